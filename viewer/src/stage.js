// The scene around the arms: camera, light, ground, and how it is drawn.
import {
  AmbientLight, Color, DirectionalLight, DoubleSide, Group, HemisphereLight, Mesh, PCFShadowMap,
  PerspectiveCamera, PlaneGeometry, Quaternion, Scene, ShaderMaterial, ShadowMaterial, Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { byId } from "./dom.js";

const Z = new Vector3(0, 0, 1);
const FILLED = 0.74; // of the picture, by what moves,
const ACROSS = 0.88; // and of the width of one that is taller than wide
const TALLEST = 0.3; // of the height of a picture: words that are given room
const OTHER = 0.15; // of a stage's sides, by whose change its view is another

// Where a dot of the screen is two of the page, nobody sees smooth edges.
const fine = () => window.devicePixelRatio > 0.5;

const GRID = {
  vertexShader: `
    varying vec2 place;
    void main() {
      place = position.xy;
      gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
    }`,
  fragmentShader: `
    varying vec2 place;
    uniform vec3 colour;
    uniform float cell;
    uniform float radius;
    float lines(float size) {
      vec2 x = place / size;
      vec2 d = abs(fract(x - 0.5) - 0.5) / max(fwidth(x), 1e-6);
      return 1.0 - min(min(d.x, d.y), 1.0);
    }
    void main() {
      float fade = 1.0 - smoothstep(0.25, 1.0, length(place) / radius);
      float ink = max(0.35 * lines(cell), 0.8 * lines(5.0 * cell));
      gl_FragColor = vec4(colour, ink * fade);
      #include <colorspace_fragment>
    }`,
};

/** Makes the stage for a box that holds all that will move; throws where there is no WebGL. */
export function makeStage(canvas, box, up) {
  const context = canvas.getContext("webgl2", { antialias: fine(), alpha: true });
  if (!context) throw new Error("it may be switched off.");
  const renderer = new WebGLRenderer({ canvas, context });
  renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = PCFShadowMap;
  const scene = new Scene();
  const camera = new PerspectiveCamera(32, 1, 0.01, 100);
  camera.up.copy(up);
  const controls = new OrbitControls(camera, canvas);
  controls.enableDamping = false;
  controls.zoomToCursor = true;
  const stage = { renderer, scene, camera, controls, up, canvas, touched: false };
  controls.addEventListener("start", () => {
    stage.touched = true;
  });
  surround(stage, box);
  resetView(stage);
  return stage;
}

/** Puts light and ground around a box that holds all that will move, in place of those before. */
export function surround(stage, box) {
  const { around } = stage;
  stage.box = box;
  stage.around = new Group();
  addLight(stage);
  addGround(stage);
  stage.scene.add(stage.around);
  if (!around) return;
  stage.scene.remove(around);
  around.traverse((each) => {
    each.geometry?.dispose();
    each.material?.dispose();
    each.shadow?.dispose();
  });
}

function addLight(stage) {
  const { around, up, box } = stage;
  const sky = new HemisphereLight(0xffffff, 0x8d8a85, 1.7);
  sky.position.copy(up);
  const sun = new DirectionalLight(0xffffff, 2.2);
  const { centre, radius, view, side } = box;
  sun.position.copy(centre).addScaledVector(up, 2 * radius);
  sun.position.addScaledVector(view, 1.1 * radius).addScaledVector(side, -0.9 * radius);
  sun.target.position.copy(centre);
  sun.castShadow = true;
  sun.shadow.mapSize.setScalar(fine() ? 2048 : 512);
  sun.shadow.radius = 4;
  sun.shadow.normalBias = 0.004 * radius;
  const c = sun.shadow.camera;
  const reach = 1.5 * radius;
  Object.assign(c, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * radius, far: 6 * radius });
  around.add(sky, sun, sun.target, new AmbientLight(0xffffff, 0.25));
}

function addGround(stage) {
  const { around, up, box } = stage;
  const seen = stage.grid?.visible ?? true;
  const extent = 3.2 * box.radius;
  const power = 10 ** Math.floor(Math.log10(box.radius / 2));
  const cell = [1, 2, 5].map((k) => k * power).filter((size) => size <= box.radius / 2).pop() / 2;
  const turn = new Quaternion().setFromUnitVectors(Z, up);
  const material = new ShaderMaterial({
    ...GRID,
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    uniforms: { colour: { value: new Color() }, cell: { value: cell }, radius: { value: extent } },
  });
  const shape = new PlaneGeometry(2 * extent, 2 * extent);
  const grid = new Mesh(shape, material);
  const shadow = new Mesh(shape, new ShadowMaterial({ opacity: 0.2 }));
  shadow.receiveShadow = true;
  for (const each of [grid, shadow]) {
    each.quaternion.copy(turn);
    each.position.copy(box.floor);
    each.visible = seen;
    around.add(each);
  }
  Object.assign(stage, { grid, shadow, cell });
}

/** Moves the camera to where it sees everything. */
export function resetView(stage) {
  if (!stage.camera) return;
  const { camera, controls, box, up } = stage;
  stage.touched = false;
  const from = box.towards;
  const tall = Math.tan((camera.fov * Math.PI) / 360);
  const wide = tall * Math.max(camera.aspect, 0.2);
  const { target, distance } = fit(box, from, up, wide, tall, wordsOver(stage));
  camera.position.copy(target).addScaledVector(from, distance);
  camera.near = distance / 100;
  camera.far = distance * 20;
  controls.target.copy(target);
  controls.minDistance = distance / 50;
  controls.maxDistance = distance * 8;
  camera.updateProjectionMatrix();
  controls.update();
}

// Which part of the picture's width and height words in its corner cover, or will once a mode is plucked.
function wordsOver({ canvas }) {
  const [said, hint, caption] = ["said", "hint", "caption"].map(byId);
  const before = [hint.hidden, caption.hidden];
  [hint.hidden, caption.hidden] = [true, !caption.hasChildNodes()];
  const [picture, words] = [canvas, said].map((each) => each.getBoundingClientRect());
  [hint.hidden, caption.hidden] = before;
  if (!words.height || !picture.height) return { wide: 0, tall: 0 };
  const tall = Math.min((words.bottom - picture.top) / picture.height, TALLEST);
  return { wide: (words.right - picture.left) / picture.width, tall };
}

// Finds where to look and from how far so that all points fill the picture but for its margins, and none is behind words.
function fit({ points, thick }, from, up, wide, tall, words) {
  const right = new Vector3().crossVectors(up, from).normalize();
  const top = new Vector3().crossVectors(from, right);
  const target = points.reduce((sum, p) => sum.add(p), new Vector3()).divideScalar(points.length);
  const distance = 2 * Math.max(...points.map((p) => p.distanceTo(target))) / Math.min(wide, tall);
  const view = { points, thick, from, axes: [[right, wide], [top, tall]], target, distance };
  approach(view, FILLED);
  if (covers(view, words)) approach(view, Math.min(FILLED, 1 - 2 * words.tall));
  return view;
}

// Lets all points fill the picture up to a height; from its middle to its sides it is 1.
function approach(view, highest) {
  const { points, thick, from, axes, target } = view;
  const [[, wide], [, tall]] = axes;
  const middle = [0, (highest - FILLED) / 2];
  const filled = [wide < tall ? ACROSS : FILLED, (highest + FILLED) / 2];
  for (let k = 0; k < 12; k++) {
    const low = [Infinity, Infinity];
    const high = [-Infinity, -Infinity];
    for (const point of points) {
      const p = point.clone().sub(target);
      const away = view.distance - p.dot(from);
      axes.forEach(([axis, half], i) => {
        low[i] = Math.min(low[i], (p.dot(axis) - thick) / (away * half));
        high[i] = Math.max(high[i], (p.dot(axis) + thick) / (away * half));
      });
    }
    axes.forEach(([axis, half], i) => {
      target.addScaledVector(axis, ((low[i] + high[i]) / 2 - middle[i]) * view.distance * half);
    });
    view.distance *= 1 + 0.8 * (Math.max(...filled.map((part, i) => (high[i] - low[i]) / (2 * part))) - 1);
  }
}

function covers({ points, thick, from, axes: [[right, wide], [top, tall]], target, distance }, words) {
  return points.some((point) => {
    const p = point.clone().sub(target);
    const away = distance - p.dot(from);
    const [x, y] = [(p.dot(right) - thick) / (away * wide), (p.dot(top) + thick) / (away * tall)];
    return x < 2 * words.wide - 1 && y > 1 - 2 * words.tall;
  });
}

/** Turns the camera about what it looks at, by angles [rad], and comes nearer by a factor. */
export function moveView(stage, { around = 0, over = 0, nearer = 1 }) {
  const { camera, controls, up } = stage;
  if (!camera) return;
  stage.touched = true;
  const arm = camera.position.clone().sub(controls.target);
  arm.applyAxisAngle(up, around);
  const side = new Vector3().crossVectors(up, arm).normalize();
  const polar = arm.angleTo(up);
  arm.applyAxisAngle(side, Math.min(Math.max(polar + over, 0.05), Math.PI - 0.05) - polar);
  const length = arm.length() / nearer;
  arm.setLength(Math.min(Math.max(length, controls.minDistance), controls.maxDistance));
  camera.position.copy(controls.target).add(arm);
  controls.update();
}

/** Fits the drawing to its place on the page, if `stage.fits` does not say that it does. */
export function fitStage(stage) {
  if (stage.fits) return; // to ask the page would have it laid out for every picture
  stage.fits = true;
  const { renderer, camera, canvas } = stage;
  const width = canvas.parentElement.clientWidth;
  const height = canvas.parentElement.clientHeight;
  if (!width || !height || (stage.width === width && stage.height === height)) return;
  const first = stage.width === undefined;
  const other = Math.abs(Math.log((width * stage.height) / (height * stage.width))) > OTHER;
  const turned = !first && (stage.width > stage.height !== width > height || (other && !stage.touched));
  Object.assign(stage, { width, height });
  renderer.setSize(width, height, false);
  camera.aspect = width / height;
  camera.updateProjectionMatrix();
  if ((first || turned) && !stage.keepView) resetView(stage);
}

/** Gives the stage the colours of a theme. */
export function dressStage(stage, theme) {
  stage.grid.material.uniforms.colour.value.set(theme.grid);
  stage.shadow.material.opacity = theme.dark ? 0.45 : 0.16;
}

/** Where a point of the world is on the stage, in CSS pixels from its top left corner. */
export function project({ camera, width, height }, point) {
  const at = new Vector3(...point).project(camera);
  return [((at.x + 1) / 2) * width, ((1 - at.y) / 2) * height];
}

/** How large a pixel is at a point of the world [m]. */
export function pixelAt({ camera, height }, point) {
  const away = new Vector3().copy(point).applyMatrix4(camera.matrixWorldInverse).z;
  return (2 * Math.abs(away) * Math.tan((camera.fov * Math.PI) / 360)) / height;
}
