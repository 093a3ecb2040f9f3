// Times in filters are the person's: shown and taken in their zone, sent in UTC. Without this file they are UTC.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const minutes = (date) => date.toISOString().slice(0, 16);

customElements.define("local-times", class extends HTMLElement {
  connectedCallback() {
    for (const field of this.querySelectorAll("input")) {
      const at = field.value && new Date(`${field.value}Z`);
      if (at) field.value = minutes(new Date(at - at.getTimezoneOffset() * 60000));
    }
    for (const label of this.querySelectorAll(".zone")) Object.assign(label, { textContent: "(your time)", title: zone });
  }
});

addEventListener("formdata", ({ target, formData }) => {
  for (const field of target.querySelectorAll("local-times input")) {
    if (field.value) formData.set(field.name, `${minutes(new Date(field.value))}Z`);
  }
});
