// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 java Receiver.java

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    /** Whether a holder of one of the secrets sent exactly these bytes, less than five minutes ago. */
    static boolean verified(List<String> secrets, UnaryOperator<String> header, byte[] body) throws GeneralSecurityException {
        String id = header.apply("webhook-id"), sent = header.apply("webhook-timestamp"), signatures = header.apply("webhook-signature");
        if (id == null || sent == null || signatures == null || !sent.matches("[0-9]{1,12}")
                || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(sent)) > 300) {
            return false;
        }
        for (String secret : secrets) {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256"));
            mac.update((id + "." + sent + ".").getBytes(StandardCharsets.UTF_8));
            byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
            for (String given : signatures.split(" ")) { // two are given while a secret is changed: one must match
                if (MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected)) {
                    return true;
                }
            }
        }
        return false;
    }

    public static void main(String[] arguments) throws Exception {
        List<String> secrets = List.of(System.getenv("SECRET").split(","));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            boolean genuine = false;
            try {
                genuine = verified(secrets, exchange.getRequestHeaders()::getFirst, body);
            } catch (GeneralSecurityException error) {
                error.printStackTrace();
            }
            exchange.sendResponseHeaders(genuine ? 204 : 401, -1);
            exchange.close();
            Matcher kind = Pattern.compile("\"event\":\"([^\"]+)\"").matcher(new String(body, StandardCharsets.UTF_8));
            if (genuine && kind.find()) { // later, and once for each webhook-id: an event may come again
                System.out.println(exchange.getRequestHeaders().getFirst("webhook-id") + " " + kind.group(1));
            }
        });
        server.start();
    }
}
