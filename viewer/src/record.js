// Keeps what is drawn as a film, for as long as somebody wants.
import { make } from "./dom.js";

const KINDS = ["video/webm;codecs=vp8", "video/webm", "video/mp4"];

/** Makes a button start and end a film of a canvas; `dress` is told whether it is being made. */
export function connectRecord(button, canvas, dress) {
  const kind = window.MediaRecorder && KINDS.find((each) => MediaRecorder.isTypeSupported(each));
  button.hidden = !kind || !canvas.captureStream;
  let film = null;
  button.addEventListener("click", () => {
    if (film) {
      film.stop();
      return;
    }
    const parts = [];
    film = new MediaRecorder(canvas.captureStream(60), { mimeType: kind, videoBitsPerSecond: 12e6 });
    film.addEventListener("dataavailable", ({ data }) => parts.push(data));
    film.addEventListener("stop", () => {
      film = null;
      dress(false);
      button.setAttribute("aria-pressed", "false");
      const link = make("a", {
        download: `flexarm.${kind.includes("mp4") ? "mp4" : "webm"}`,
        href: URL.createObjectURL(new Blob(parts, { type: kind })),
      });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    });
    dress(true);
    button.setAttribute("aria-pressed", "true");
    film.start();
  });
}
