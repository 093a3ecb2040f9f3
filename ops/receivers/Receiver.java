// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... PORT=9000 java Receiver.java
// With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.*;
import java.nio.ByteBuffer;
import java.security.*;
import java.security.spec.X509EncodedKeySpec;
import java.time.*;
import java.util.*;
import java.util.function.UnaryOperator;
import java.util.regex.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    /** What was signed; null if it is older than five minutes. */
    static byte[] signedText(UnaryOperator<String> header, byte[] body) {
        String sent = String.valueOf(header.apply("webhook-timestamp"));
        if (!sent.matches("[0-9]{1,12}") || Math.abs(Instant.now().getEpochSecond() - Long.parseLong(sent)) > 300) {
            return null;
        }
        byte[] before = (header.apply("webhook-id") + "." + sent + ".").getBytes(UTF_8);
        return ByteBuffer.allocate(before.length + body.length).put(before).put(body).array();
    }

    /** Whether one of the secrets signed exactly these bytes. */
    static boolean verified(List<String> secrets, UnaryOperator<String> header, byte[] body) throws GeneralSecurityException {
        byte[] text = signedText(header, body);
        for (String secret : text == null ? List.<String>of() : secrets) {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.replaceFirst("^whsec_", "")), "HmacSHA256"));
            String expected = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(text));
            for (String given : String.valueOf(header.apply("webhook-signature")).split(" ")) {
                if (MessageDigest.isEqual(given.getBytes(UTF_8), expected.getBytes(UTF_8))) {
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
        while (x.find()) { // the DER prefix of every Ed25519 public key, and its 32 bytes
            String encoded = "MCowBQYDK2VwAyEA" + x.group(1).replace('-', '+').replace('_', '/') + "=";
            keys.add(KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(encoded))));
        }
        return keys;
    }

    /** Whether one of the keys signed exactly these bytes. */
    static boolean verifiedByKey(List<PublicKey> keys, UnaryOperator<String> header, byte[] body) throws GeneralSecurityException {
        byte[] text = signedText(header, body);
        for (String given : String.valueOf(header.apply("webhook-signature")).split(" ")) {
            for (PublicKey key : text != null && given.startsWith("v1a,") ? keys : List.<PublicKey>of()) {
                Signature signature = Signature.getInstance("Ed25519");
                signature.initVerify(key);
                signature.update(text);
                try {
                    if (signature.verify(Base64.getDecoder().decode(given.substring(4)))) {
                        return true;
                    }
                } catch (SignatureException | IllegalArgumentException error) {
                    // of another length, or not base64
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
            Matcher kind = Pattern.compile("\"event\":\"([^\"]+)\"").matcher(new String(body, UTF_8));
            if (genuine && kind.find()) { // later, and once for each webhook-id: an event may come again
                System.out.println(exchange.getRequestHeaders().getFirst("webhook-id") + " " + kind.group(1));
            }
        });
        server.start();
    }
}
