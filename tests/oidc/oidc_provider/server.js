// A certified OpenID provider (openid.net/certification) that lets anybody in by any password, on a free port, which
// it prints. Clients register themselves. Who signs in is known by the address that they give.

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const algorithms = ["RS256", "PS256", "ES256", "EdDSA", "Ed25519"];
const kinds = [["rsa", { modulusLength: 2048 }], ["ec", { namedCurve: "P-256" }], ["ed25519", {}]];
const keys = kinds.map(([kind, options]) => generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" }));

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    claims: { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name"] },
    features: { registration: { enabled: true }, backchannelLogout: { enabled: true } },
    fetch: (url, { dispatcher, ...options }) => fetch(url, options), // without its guard: the test is on this machine
    jwks: { keys },
    enabledJWA: { idTokenSigningAlgValues: algorithms },
    cookies: { keys: ["of a test"] },
    ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 600, IdToken: 600 },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: id, email_verified: true, groups: id.startsWith("boss") ? ["it"] : [] }),
    }),
  });
  server.on("request", provider.callback());
  console.log(port);
});
