// What a script, or somebody at the browser's console, can ask of the page and tell it.
import { byId } from "./dom.js";
import { pick } from "./modes.js";
import { play, seek } from "./player.js";
import { pixelAt, project } from "./stage.js";
import { measureTube } from "./tube.js";

const drawn = () =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));

/** Offers the page as `window.flexarm`. */
export function offer(page) {
  const { player, show } = page;
  window.flexarm = {
    play: () => play(player, true),
    pause: () => play(player, false),
    time: () => player.time,
    playing: () => player.playing,
    /** Resolves when all that was asked for is drawn. */
    drawn,
    seek: (time) => {
      seek(player, time);
      return drawn();
    },
    pick: (mode) => {
      pick(page, mode);
      return drawn();
    },
    /** Where sections are in the world, per arm and link, and the tip [m]; and what colours them. */
    pose: () =>
      show.arms.map(({ pose }) => ({
        links: pose.links.map((link) => Array.from(link.centres)),
        tip: Array.from(pose.tip.p),
        field: pose.links.map((link) => Array.from(link[show.settings.field] ?? [])),
      })),
    /** Width and height of every section as drawn, per arm and link [m]. */
    girths: () =>
      show.arms.map(({ pose, links }) =>
        links.map(({ tube }, i) => {
          const { centres, turns } = pose.links[i];
          return Array.from(measureTube(tube, centres, turns));
        }),
      ),
    /** The camera: matrices column by column, as three.js has them. */
    camera: () => ({
      view: show.stage.camera.matrixWorldInverse.toArray(),
      projection: show.stage.camera.projectionMatrix.toArray(),
    }),
    /** Where bodies, arrows of forces and coils are [m], how many obstacles are drawn, and how large a pixel is
     * where one looks [m]. */
    around: () => ({
      bodies: show.around.bodies.flat().map(({ ball }) => ball.position.toArray()),
      forces: show.forces.marks.map(({ whole, coil }) => {
        const { position, scale, visible } = whole ?? coil;
        return { at: position.toArray(), length: whole ? NaN : scale.y, visible };
      }),
      obstacles: show.around.walls.children.length / 2,
      pixel: pixelAt(show.stage, show.stage.controls.target),
    }),
    /** Where a point of the world is drawn, in pixels of the page. */
    pixel: (point) => {
      const { left, top } = byId("canvas").getBoundingClientRect();
      const [x, y] = project(show.stage, point);
      return [left + x, top + y];
    },
    /** What the last pictures took [ms], the page's own code and drawing; and when they were. */
    costs: () => ({ pairs: player.costs, times: player.pictures }),
  };
}
