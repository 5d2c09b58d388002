// An arm as a group of meshes: links, joints, hubs, payload, the mark at its tip.
import {
  BoxGeometry, Color, CylinderGeometry, Group, Matrix4, Mesh, MeshBasicMaterial,
  MeshStandardMaterial, Quaternion, SphereGeometry, Vector3,
} from "three";
import { paintField } from "./colours.js";
import { isStraight, makePose, poseArm } from "./kinematics.js";
import { makeNodes, makeSkin, updateNodes } from "./nodes.js";
import { drawnSizes, girths, outline } from "./sections.js";
import { bendTube, makeTube, paintTube, straightenTube } from "./tube.js";

const ROD = new CylinderGeometry(1, 1, 1, 24).rotateX(Math.PI / 2); // along z, of length 1
const CUBE = new BoxGeometry(1, 1, 1);
const BALL = new SphereGeometry(1, 32, 20);
const SLIM = 0.8; // of its thickness: a second run hides in the first where they agree
const SLIMMEST = 0.5;
const SHORT = 0.14; // of a link's length: its joint is drawn no larger, unless the link is so thick
const STEEL = 7800; // [kg/m^3]: a payload is drawn as a ball of steel, within reason

/** Makes the meshes of an arm; `look` is "solid", "other" (of a further run, of a number) or "ghost". */
export function makeArm(arm, reach, look, run = 0) {
  const materials = makeMaterials(look);
  const slim = Math.max(SLIM ** run, SLIMMEST);
  const sizes = drawnSizes(arm, reach).map(({ width, height }) => ({
    width: slim * width,
    height: slim * height,
  }));
  const group = new Group();
  const parts = { arm, materials, look, run, slim, group, pose: makePose(arm), rods: [] };
  const thick = arm.links.map((link, i) => girths(link, sizes[i]));
  parts.links = arm.links.map((link, i) => makeLink(parts, link, sizes[i], thick, i, reach));
  if (arm.base.mesh && look !== "ghost") {
    parts.stand = makeSkin(arm.base.mesh, false, materials.link.opacity);
    group.add(parts.stand);
  }
  const last = thick[thick.length - 1].tip;
  parts.end = rod(parts, 0.7 * last, materials.hardware);
  if (look !== "ghost") {
    addPayload(parts, last, reach);
    parts.mark = new Mesh(BALL, materials.mark);
    parts.mark.renderOrder = 10;
    group.add(parts.mark);
  }
  group.traverse((each) => {
    each.castShadow = look !== "ghost" && each !== parts.mark;
    each.receiveShadow = look === "solid" && each !== parts.mark;
  });
  return parts;
}

function makeMaterials(look) {
  const seen = { ghost: 0.2, other: 0.75, solid: 1 }[look];
  const translucent = { transparent: seen < 1, opacity: seen, depthWrite: seen === 1 };
  const metal = { roughness: 0.42, metalness: 0.05, ...translucent };
  return {
    link: new MeshStandardMaterial({ ...metal, vertexColors: true }),
    hardware: new MeshStandardMaterial({ ...metal, roughness: 0.4 }),
    payload: new MeshStandardMaterial({ ...metal, roughness: 0.5 }),
    mark: new MeshBasicMaterial({ depthTest: false, transparent: true }),
    plain: new Color(),
  };
}

/** Gives an arm the colours of a theme; of two compared, the mark at the tip has its arm's. */
export function dressArm({ materials, look, run }, theme, compared) {
  materials.plain.set(look === "ghost" ? theme.ghost : theme.runs[run % theme.runs.length]);
  materials.hardware.color.set(look === "solid" ? theme.hardware : materials.plain);
  materials.payload.color.set(look === "solid" ? theme.payload : materials.plain);
  materials.mark.color.set(compared ? materials.plain : theme.mark);
  if (look !== "ghost") return;
  for (const name of ["link", "hardware", "payload"]) materials[name].opacity = theme.dark ? 0.3 : 0.2;
}

function rod(parts, radius, material) {
  const mesh = new Mesh(ROD, material);
  mesh.userData.radius = radius;
  parts.group.add(mesh);
  return mesh;
}

/** Tells whether a link slides out of its hub. */
function grows(link) {
  return Boolean(link.shape?.sliding);
}

function makeLink(parts, link, size, thick, i, reach) {
  const { group, materials, pose } = parts;
  const outer = thick[i].root;
  const inner = Math.min(outer, i ? thick[i - 1].tip : outer);
  const stations = pose.links[i].centres.length / 3;
  const profile = link.section?.profile?.values;
  const tube = makeTube(outline(link.section, size), stations, materials.link, profile);
  const made = { tube, colours: new Float32Array(3 * stations) };
  group.add(tube.mesh);
  made.before = rod(parts, 0.7 * inner, materials.hardware);
  made.after = rod(parts, 0.7 * inner, materials.hardware);
  made.slide = rod(parts, 0.6 * outer, materials.hardware);
  if (link.moves.some((each) => each.about !== null)) {
    made.joint = new Mesh(link.moves.length > 1 ? BALL : ROD, materials.hardware);
    // Joints of a chain of many short links do not hide how these bend.
    const seen = Math.min(0.011 * reach, SHORT * (link.length || reach));
    const radius = Math.max(1.75 * outer, seen * parts.slim);
    made.joint.scale.set(radius, radius, link.moves.length > 1 ? radius : 2 * radius);
  } else if (link.moves.length || grows(link) || link.rides) {
    made.joint = new Mesh(CUBE, materials.hardware);
    const [w, h] = [1.6 * size.width + inner, 1.6 * size.height + inner];
    const turned = grows(link) || link.rides; // its box stands along x
    made.joint.scale.set(turned ? h : w, turned ? w : h, 6 * outer);
  }
  if (made.joint) group.add(made.joint);
  if (grows(link)) {
    made.inside = makeTube(outline(link.section, size), 2, materials.link);
    group.add(made.inside.mesh);
  }
  if (link.shape?.points) {
    made.nodes = makeNodes(link.shape, reach, materials.link.opacity);
    group.add(...made.nodes.parts);
  }
  if (link.mesh) {
    made.skin = makeSkin(link.mesh, Boolean(link.shape), materials.link.opacity);
    group.add(made.skin);
  }
  return made;
}

function addPayload(parts, thick, reach) {
  const { payload } = parts.arm;
  if (!payload) return;
  parts.payload = new Mesh(BALL, parts.materials.payload);
  parts.bounds = [1.7 * thick, 0.09 * reach];
  parts.holder = rod(parts, 0.5 * thick, parts.materials.payload);
  parts.group.add(parts.payload);
  weighPayload(parts, payload.mass);
}

/** Draws a payload as large as its mass [kg] in steel, within limits; none where there is none. */
export function weighPayload(parts, mass) {
  if (!parts.payload) return;
  const real = Math.cbrt((3 * mass) / (4 * Math.PI * STEEL));
  parts.payload.scale.setScalar(Math.min(Math.max(real, parts.bounds[0]), parts.bounds[1]));
  parts.payload.visible = mass > 0;
}

/** Poses an arm, drawn at a scale of its deformation and coloured by a field. */
export function updateArm(parts, state, scale, field, largest) {
  const { arm, pose, materials } = parts;
  const straight = parts.look === "ghost" && scale === 0;
  poseArm(arm, state, scale, pose, { straight });
  let before = pose.base;
  arm.links.forEach((link, i) => {
    const made = parts.links[i];
    const out = pose.links[i];
    if (field === "plain" || !link.shape) paintPlain(materials.plain, made.colours);
    else paintField(out[field], largest, materials.plain, made.colours);
    paintTube(made.tube, made.colours);
    if (straight && isStraight(link)) placeStraight(made, out);
    else bendTube(made.tube, out.centres, out.turns);
    made.tube.mesh.visible = out.exposed > 0;
    stretch(made.before, before.p, out.joint.p);
    stretch(made.slide, out.joint.p, out.turned.p);
    stretch(made.after, out.turned.p, out.root.p);
    if (made.joint) placeJoint(made, link, out);
    if (made.inside) placeInside(parts, made, link, out);
    if (made.nodes) updateNodes(made.nodes, link, state, scale, out.root, materials.plain);
    if (made.skin) placeSkin(made.skin, out.root, materials.plain);
    if (made.skin && !link.shape) {
      for (const each of [made.tube.mesh, made.before, made.slide, made.after, made.joint]) {
        if (each) each.visible = false;
      }
    }
    before = out.mount ?? out.tip;
  });
  if (parts.stand) placeSkin(parts.stand, pose.base, materials.hardware.color);
  stretch(parts.end, before.p, pose.tip.p);
  if (parts.mark) parts.mark.position.set(...pose.tip.p);
  if (parts.payload) {
    const com = new Vector3(...arm.payload.com).applyMatrix4(matrixOf(pose.tip));
    parts.payload.position.copy(com);
    stretch(parts.holder, pose.tip.p, com.toArray());
  }
}

function paintPlain(colour, out) {
  for (let k = 0; k < out.length; k += 3) colour.toArray(out, k);
}

const FROM = new Vector3();
const TO = new Vector3();
const Z = new Vector3(0, 0, 1);

function stretch(mesh, from, to) {
  FROM.set(...from);
  TO.set(...to).sub(FROM);
  const length = TO.length();
  mesh.visible = length > 0.3 * mesh.userData.radius;
  if (!mesh.visible) return;
  mesh.position.copy(FROM).addScaledVector(TO, 0.5);
  mesh.quaternion.setFromUnitVectors(Z, TO.divideScalar(length));
  mesh.scale.set(mesh.userData.radius, mesh.userData.radius, length);
}

const MATRIX = new Matrix4();
const ALONG_X = new Quaternion().setFromUnitVectors(Z, new Vector3(1, 0, 0));

function matrixOf({ R, p }) {
  return MATRIX.set(
    R[0], R[1], R[2], p[0], R[3], R[4], R[5], p[1], R[6], R[7], R[8], p[2], 0, 0, 0, 1,
  );
}

function placeSkin(skin, at, colour) {
  skin.position.set(...at.p);
  skin.quaternion.setFromRotationMatrix(matrixOf(at));
  skin.material.color.copy(colour);
}

function placeJoint(made, link, out) {
  const at = grows(link) ? out.root : out.joint;
  made.joint.position.set(...at.p);
  made.joint.quaternion.setFromRotationMatrix(matrixOf(at));
  if (grows(link) || link.rides) made.joint.quaternion.multiply(ALONG_X);
  if (grows(link)) {
    // The beam leaves its hub at the mouth, which is the root.
    FROM.set(0, 0, -made.joint.scale.z / 2).applyQuaternion(made.joint.quaternion);
    made.joint.position.add(FROM);
  }
}

// A straight link moves as a whole.
function placeStraight(made, { root, exposed }) {
  const { tube } = made;
  if (made.straight !== exposed) straightenTube(tube, exposed);
  made.straight = exposed;
  tube.mesh.position.set(...root.p);
  tube.mesh.quaternion.setFromRotationMatrix(matrixOf(root));
}

// What of a sliding beam has not come out is behind its hub's mouth.
function placeInside({ materials }, made, link, out) {
  const behind = Math.max(link.length - out.exposed, 1e-9);
  const { R, p } = out.root;
  const centres = [p[0] - behind * R[0], p[1] - behind * R[3], p[2] - behind * R[6], ...p];
  const colours = [];
  for (let k = 0; k < 2; k++) materials.plain.toArray(colours, 3 * k);
  bendTube(made.inside, centres, [...R, ...R]);
  paintTube(made.inside, colours);
}
