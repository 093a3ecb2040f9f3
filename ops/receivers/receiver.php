<?php
// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... php -S 127.0.0.1:9000 receiver.php
// With KEYS=https://.../jwks.json instead of SECRET it verifies by what is published there.

/** What was signed; empty if it is older than five minutes. */
function signed_text(array $server, string $body): string
{
    $sent = $server['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    $fresh = preg_match('/\A\d{1,12}\z/', $sent) && abs(time() - (int) $sent) <= 300;
    return $fresh ? ($server['HTTP_WEBHOOK_ID'] ?? '') . ".$sent.$body" : '';
}

/** Whether one of the secrets signed exactly these bytes. */
function verified(array $secrets, array $server, string $body): bool
{
    $text = signed_text($server, $body);
    foreach ($text === '' ? [] : $secrets as $secret) {
        $key = base64_decode(preg_replace('/\Awhsec_/', '', $secret), true);
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', $text, $key, true));
        foreach (explode(' ', $server['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
            if (strlen($key) >= 24 && hash_equals($expected, $given)) { // an unset variable is no secret
                return true;
            }
        }
    }
    return false;
}

/** The keys of an endpoint. Keep them for five minutes, for instance in APCu. */
function published_keys(string $url): array
{
    $set = json_decode(file_get_contents($url), true, 512, JSON_THROW_ON_ERROR);
    return array_map(fn ($key) => sodium_base642bin($key['x'], SODIUM_BASE64_VARIANT_URLSAFE_NO_PADDING), $set['keys']);
}

/** Whether one of the keys signed exactly these bytes. */
function verified_by_key(array $keys, array $server, string $body): bool
{
    $text = signed_text($server, $body);
    foreach (explode(' ', $server['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
        $signature = str_starts_with($given, 'v1a,') ? (string) base64_decode(substr($given, 4), true) : '';
        foreach ($text !== '' && strlen($signature) === SODIUM_CRYPTO_SIGN_BYTES ? $keys : [] as $key) {
            if (sodium_crypto_sign_verify_detached($signature, $text, $key)) {
                return true;
            }
        }
    }
    return false;
}

$body = file_get_contents('php://input');
$genuine = getenv('KEYS')
    ? verified_by_key(published_keys(getenv('KEYS')), $_SERVER, $body)
    : verified(explode(',', getenv('SECRET')), $_SERVER, $body);
if (!$genuine) {
    http_response_code(401);
    return;
}
http_response_code(204);
// Later, and once for each webhook-id: an event may come again.
file_put_contents('php://stdout', $_SERVER['HTTP_WEBHOOK_ID'] . ' ' . json_decode($body)->event . "\n");
