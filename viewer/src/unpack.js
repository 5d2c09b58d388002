// Unpacks the page's script, which takes a third of its room packed, and runs it; says so where it cannot.
const until = { drawn: () => ready }; // it runs
window.flexarm = until;
const ready = unpack().then((text) => {
  run(text);
  return window.flexarm === until || window.flexarm.drawn();
});
ready.catch(({ message }) => {
  const place = document.getElementById("warning");
  const old = "This browser is too old to unpack the page: it takes Chrome 100, Firefox 113, Safari 16.4, or newer.";
  place.textContent = window.DecompressionStream ? `The page cannot be shown: ${message}` : old;
  place.hidden = false;
});

async function unpack() {
  const { textContent } = document.getElementById("packed");
  const packed = Uint8Array.from(atob(textContent), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

// What a script does wrong at its start, or cannot be read for, is no error of what appends it.
function run(text) {
  const script = document.createElement("script");
  script.textContent = text;
  let failed = null;
  const note = (event) => { failed = event; };
  window.addEventListener("error", note);
  document.body.append(script);
  window.removeEventListener("error", note);
  if (failed) throw new Error(failed.message);
}
