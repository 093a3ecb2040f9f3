// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 java Receiver.java
// With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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

    /** The keys of an endpoint. Keep them for five minutes. Needs Java 15. */
    static List<PublicKey> publishedKeys(String url) throws IOException, InterruptedException, GeneralSecurityException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(10)).build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IOException(url + " answered " + answer.statusCode());
        }
        List<PublicKey> keys = new ArrayList<>();
        Matcher x = Pattern.compile("\"x\" *: *\"([A-Za-z0-9_-]{43})\"").matcher(answer.body()); // or a library for JSON
        while (x.find()) { // what every public key of Ed25519 begins with in DER, and its 32 bytes
            String encoded = "MCowBQYDK2VwAyEA" + x.group(1).replace('-', '+').replace('_', '/') + "=";
            keys.add(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(encoded))));
        }
        return keys;
    }

    /** Whether the holder of one of the keys sent exactly these bytes, less than five minutes ago. */
    static boolean verifiedByKey(List<PublicKey> keys, UnaryOperator<String> header, byte[] body) throws GeneralSecurityException {
        String id = header.apply("webhook-id"), sent = header.apply("webhook-timestamp"), signatures = header.apply("webhook-signature");
        if (id == null || sent == null || signatures == null || !sent.matches("[0-9]{1,12}")
                || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(sent)) > 300) {
            return false;
        }
        for (String given : signatures.split(" ")) {
            for (PublicKey key : given.startsWith("v1a,") ? keys : List.<PublicKey>of()) { // while a key is changed there are two
                Signature signature = Signature.getInstance("Ed25519");
                signature.initVerify(key);
                signature.update((id + "." + sent + ".").getBytes(StandardCharsets.UTF_8));
                signature.update(body);
                try {
                    if (signature.verify(Base64.getDecoder().decode(given.substring(4)))) {
                        return true;
                    }
                } catch (SignatureException | IllegalArgumentException error) {
                    // of another length, or not base64: not by this key
                }
            }
        }
        return false;
    }

    private static List<PublicKey> kept;
    private static Instant until = Instant.MIN;

    static synchronized List<PublicKey> keys(String url) throws IOException, InterruptedException, GeneralSecurityException {
        if (Instant.now().isAfter(until)) {
            kept = publishedKeys(url);
            until = Instant.now().plusSeconds(300);
        }
        return kept;
    }

    public static void main(String[] arguments) throws Exception {
        String url = System.getenv("KEYS");
        List<String> secrets = List.of(System.getenv().getOrDefault("SECRET", "").split(","));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("PORT"))), 0);
        server.createContext("/", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            boolean genuine = false;
            try {
                UnaryOperator<String> header = exchange.getRequestHeaders()::getFirst;
                genuine = url == null ? verified(secrets, header, body) : verifiedByKey(keys(url), header, body);
            } catch (GeneralSecurityException | InterruptedException error) {
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
