// What a brand color needs so that everything on it and in it can be read.
// Contrast as WCAG defines it, of colors given as three numbers from 0 to 255.
const light = (color) => color.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
const contrast = (one, other) => (Math.max(light(one), light(other)) + 0.05) / (Math.min(light(one), light(other)) + 0.05);
// The color, mixed with black or white until text in it can be read on paper of the other.
const readable = (color, paper, ink) => {
  let mixed = color;
  for (let share = 0; contrast(mixed, paper) < 4.5; share += 0.05) mixed = color.map((c) => Math.round(c + (ink - c) * share));
  return `rgb(${mixed})`;
};
// The style sheet's variables for a color such as #0f766e.
const looks = (color) => {
  const rgb = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16)), dark = contrast(rgb, [0, 0, 0]) < 4.6;
  return {
    accent: color, "on-accent": dark ? "#fff" : "#000", away: dark ? "#000" : "#fff", // text on it; what to shade it with
    strong: `light-dark(${readable(rgb, [242, 242, 245], 0)}, ${readable(rgb, [38, 40, 47], 255)})`,
  };
};
