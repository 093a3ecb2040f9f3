<?php
// A receiver of Leadwire's webhooks. Run: SECRET=whsec_... php -S 127.0.0.1:9000 receiver.php

/** Whether a holder of one of the secrets sent exactly these bytes, less than five minutes ago. */
function verified(array $secrets, array $server, string $body): bool
{
    [$id, $sent, $signatures] = array_map(fn ($name) => $server["HTTP_WEBHOOK_$name"] ?? '', ['ID', 'TIMESTAMP', 'SIGNATURE']);
    if (!preg_match('/\A\d{1,12}\z/', $sent) || abs(time() - (int) $sent) > 300) {
        return false;
    }
    $matching = false;
    foreach ($secrets as $secret) {
        $key = base64_decode(preg_replace('/\Awhsec_/', '', $secret), true);
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$sent.$body", $key, true));
        foreach (explode(' ', $signatures) as $given) { // two are given while a secret is changed: one must match
            $matching = hash_equals($expected, $given) || $matching;
        }
    }
    return $matching;
}

$body = file_get_contents('php://input');
if (!verified(explode(',', getenv('SECRET')), $_SERVER, $body)) {
    http_response_code(401);
    return;
}
http_response_code(204);
// Later, and once for each webhook-id: an event may come again.
file_put_contents('php://stdout', $_SERVER['HTTP_WEBHOOK_ID'] . ' ' . json_decode($body)->event . "\n");
