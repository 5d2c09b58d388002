// Unpacks the page's script, which takes a third of its room packed, and runs it.
const { textContent } = document.getElementById("packed");
const packed = Uint8Array.from(atob(textContent), (c) => c.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
const until = { drawn: () => ready }; // it runs
const ready = new Response(stream).text().then((text) => {
  const script = document.createElement("script");
  script.textContent = text;
  document.body.append(script);
  return window.flexarm === until || window.flexarm.drawn();
});
window.flexarm = until;
