// Passkeys. A button with `data-passkey` asks that address for options and the device for a credential, which its form
// then sends. Where the browser cannot do it, style sheets hide such buttons.

const told = {
  NotAllowedError: "No passkey was used. Try again, or use another way.",
  InvalidStateError: "This device has a passkey for your account already.",
};

async function credential(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" }, redirect: "error" });
  const options = await response.json();
  return options.user
    ? navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-passkey]");
  if (!button) return;
  event.preventDefault();
  const form = button.form, say = form.querySelector("output");
  if (!button.formNoValidate && !form.reportValidity()) return;
  say.textContent = "";
  button.setAttribute("aria-busy", "true");
  try {
    form.querySelector("[data-credential]").value = JSON.stringify(await credential(button.dataset.passkey));
    form.requestSubmit(button);
  } catch (error) {
    say.textContent = told[error.name] ?? "That did not work. Load the page again.";
  }
  button.removeAttribute("aria-busy");
});
