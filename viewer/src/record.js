// Keeps what is drawn, with what is written over it: as a picture, or as a film for as long as one wants.
import { make } from "./dom.js";
import { writeMarks } from "./marks.js";
import { drawShow } from "./show.js";
import { readTheme } from "./theme.js";

const KINDS = ["video/webm;codecs=vp9", "video/webm", "video/mp4"];

/** Makes a button start and end a film; returns what is to be called after every drawing. */
export function connectRecord(button, show) {
  const kind = window.MediaRecorder && KINDS.find((each) => MediaRecorder.isTypeSupported(each));
  const canvas = make("canvas");
  button.hidden = !kind || !canvas.captureStream || show.blind;
  let film = null;
  button.addEventListener("click", () => {
    if (film) {
      film.stop();
      return;
    }
    const parts = [];
    drawShow(show); // a browser forgets a drawing once it has shown it
    copyDrawing(show, canvas, readTheme().surface);
    film = new MediaRecorder(canvas.captureStream(60), { mimeType: kind, videoBitsPerSecond: 12e6 });
    film.addEventListener("dataavailable", ({ data }) => parts.push(data));
    film.addEventListener("stop", () => {
      film = null;
      button.setAttribute("aria-pressed", "false");
      keep(new Blob(parts, { type: kind }), `flexarm.${kind.includes("mp4") ? "mp4" : "webm"}`);
    });
    button.setAttribute("aria-pressed", "true");
    film.start();
  });
  return () => film && copyDrawing(show, canvas, readTheme().surface);
}

/** Saves what is drawn as a picture, on no ground. */
export function savePicture(show) {
  drawShow(show);
  const canvas = make("canvas");
  copyDrawing(show, canvas, null);
  canvas.toBlob((blob) => keep(blob, "flexarm.png"));
}

function copyDrawing(show, canvas, ground) {
  const drawn = show.stage.canvas;
  if (canvas.width !== drawn.width || canvas.height !== drawn.height) {
    Object.assign(canvas, { width: drawn.width, height: drawn.height });
  }
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  if (ground) {
    context.fillStyle = ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
  }
  context.drawImage(drawn, 0, 0);
  writeMarks(show, context, drawn.width / show.stage.width);
}

function keep(blob, name) {
  const link = make("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
