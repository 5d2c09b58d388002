// An arm as a group of meshes: links, joints, hubs, payload, the mark at its tip.
import {
  BoxGeometry, Color, CylinderGeometry, DynamicDrawUsage, Group, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial,
  MeshDepthMaterial, MeshStandardMaterial, Quaternion, SphereGeometry, Vector3,
} from "three";
import { paintField } from "./colours.js";
import { makePose, poseArm } from "./kinematics.js";
import { makeNodes, makeSkin, updateNodes } from "./nodes.js";
import { drawnSizes, girths, outline } from "./sections.js";
import { bendTube, joinTubes, makeTube, paintTube } from "./tube.js";

const ROD = new CylinderGeometry(1, 1, 1, 24).rotateX(Math.PI / 2); // along z, of length 1
const CUBE = new BoxGeometry(1, 1, 1);
const BALL = new SphereGeometry(1, 32, 20);
const SLIM = 0.8; // of its thickness: a second run hides in the first where they agree
const SLIMMEST = 0.5;
const SHORT = 0.14; // of a link's length: its joint is drawn no larger, unless the link is so thick
const RODS = 4; // of a link: before, along and after its joint, and the joint itself
// What is drawn many times at once casts shadows by a program of its own: one that is shared would change for each.
const MANY = new MeshDepthMaterial();
const STEEL = 7800; // [kg/m^3]: a payload is drawn as a ball of steel, within reason

/**
 * Makes the meshes of an arm; `look` is "solid", "other" (of a further run, of a number) or "ghost", which may be
 * `straight` always. All links are one mesh, all rods are, and all boxes: each takes time of its own for every picture.
 */
export function makeArm(arm, reach, look, run = 0, straight = false) {
  const materials = makeMaterials(look);
  const slim = Math.max(SLIM ** run, SLIMMEST);
  const sizes = drawnSizes(arm, reach).map(({ width, height }) => ({
    width: slim * width,
    height: slim * height,
  }));
  const group = new Group();
  const parts = { arm, materials, look, slim, group, straight, run, pose: makePose(arm, straight) };
  const thick = arm.links.map((link, i) => girths(link, sizes[i]));
  const many = (shape, most) => makeMany(parts, shape, most);
  const [rods, balls, boxes] = [many(ROD, RODS * arm.links.length + 1), many(BALL, arm.links.length), many(CUBE, arm.links.length)];
  Object.assign(parts, { rods, many: [rods, balls, boxes], balls, boxes });
  parts.links = arm.links.map((link, i) => makeLink(parts, link, sizes[i], thick, i, reach));
  const tubes = parts.links.flatMap(({ tube, inside }) => (inside ? [tube, inside.tube] : [tube]));
  group.add(joinTubes(tubes, materials.link));
  if (arm.base.mesh && look !== "ghost") {
    parts.stand = makeSkin(arm.base.mesh, false, materials.link.opacity);
    group.add(parts.stand);
  }
  const last = thick[thick.length - 1].tip;
  parts.end = 0.7 * last;
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

// Makes a mesh that draws a shape of the joints' material many times.
function makeMany({ group, materials }, shape, most) {
  const mesh = new InstancedMesh(shape, materials.hardware, most);
  mesh.instanceMatrix.setUsage(DynamicDrawUsage);
  mesh.customDepthMaterial = MANY;
  mesh.frustumCulled = false; // it moves, and its bounds with it
  group.add(mesh);
  return mesh;
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

/** Tells whether a link slides out of its hub. */
function grows(link) {
  return Boolean(link.shape?.sliding);
}

function makeLink(parts, link, size, thick, i, reach) {
  const { group, materials, pose } = parts;
  const outer = thick[i].root;
  const inner = Math.min(outer, link.parent < 0 ? outer : thick[link.parent].tip);
  const hidden = Boolean(link.mesh && !link.shape); // its surface is drawn in its place
  const stations = pose.links[i].centres.length / 3;
  const tube = makeTube(outline(link.section, size), stations, link.section?.profile?.values);
  tube.seen = !hidden && (link.length > 0 || grows(link));
  const made = { tube, hidden, inner: 0.7 * inner, outer: 0.6 * outer, colours: new Float32Array(3 * stations) };
  if (link.moves.some((each) => each.about !== null)) {
    // Joints of a chain of many short links do not hide how these bend.
    const seen = Math.min(0.011 * reach, SHORT * (link.length || reach));
    const radius = Math.max(1.75 * outer, seen * parts.slim);
    const ball = link.moves.length > 1;
    made.joint = { mesh: ball ? parts.balls : parts.rods, scale: new Vector3(radius, radius, ball ? radius : 2 * radius) };
  } else if (link.moves.length || grows(link) || link.rides) {
    const [w, h] = [1.6 * size.width + inner, 1.6 * size.height + inner];
    const turned = grows(link) || link.rides; // its box stands along x
    made.joint = { mesh: parts.boxes, scale: new Vector3(turned ? h : w, turned ? w : h, 6 * outer) };
  }
  if (grows(link)) {
    made.inside = { tube: makeTube(outline(link.section, size), 2), colours: new Float32Array(6) };
  }
  if (link.shape?.points) {
    made.nodes = makeNodes(link.shape, reach, materials.link.opacity);
    group.add(...made.nodes.parts);
  }
  if (link.payload && parts.look !== "ghost") {
    made.payload = new Mesh(BALL, parts.materials.payload);
    made.payload.scale.setScalar(Math.min(Math.max(radiusOf(link.payload), 1.7 * thick[i].tip), 0.09 * reach));
    group.add(made.payload);
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
  parts.holder = new Mesh(ROD, parts.materials.payload);
  parts.holder.userData.radius = 0.5 * thick;
  parts.group.add(parts.payload, parts.holder);
  weighPayload(parts, payload.mass);
}

/** Draws a payload as large as its mass [kg] in steel, within limits; none where there is none. */
export function weighPayload(parts, mass) {
  if (!parts.payload) return;
  parts.payload.scale.setScalar(Math.min(Math.max(radiusOf({ mass }), parts.bounds[0]), parts.bounds[1]));
  parts.payload.visible = mass > 0;
}

const radiusOf = ({ mass }) => Math.cbrt((3 * mass) / (4 * Math.PI * STEEL));

/** Poses an arm, drawn at a scale of its deformation; a solid one is coloured by a field. */
export function updateArm(parts, state, scale, field, largest) {
  const { arm, pose, materials, many, rods, links } = parts;
  poseArm(arm, state, scale, pose, { straight: parts.straight, field });
  for (const mesh of many) mesh.count = 0;
  arm.links.forEach((link, i) => {
    const made = links[i];
    const out = pose.links[i];
    if (parts.look !== "solid" || field === "plain" || !link.shape) paintPlain(materials.plain, made.colours);
    else paintField(out[field], largest, materials.plain, made.colours);
    paintTube(made.tube, made.colours);
    bendTube(made.tube, out.centres, out.turns);
    if (!made.hidden) {
      addRod(rods, made.inner, out.from.p, out.joint.p);
      addRod(rods, made.outer, out.joint.p, out.turned.p);
      addRod(rods, made.inner, out.turned.p, out.root.p);
      if (made.joint) addJoint(made.joint, link, out);
    }
    if (made.inside) placeInside(parts, made.inside, link, out);
    if (made.nodes) updateNodes(made.nodes, link, state, scale, out.root, materials.plain);
    if (made.skin) placeSkin(made.skin, out.root, materials.plain);
    made.payload?.position.set(...link.payload.com).applyMatrix4(matrixOf(out.tip));
  });
  if (parts.stand) placeSkin(parts.stand, pose.base, materials.hardware.color);
  addRod(rods, parts.end, pose.links.at(-1).tip.p, pose.tip.p);
  for (const mesh of many) {
    mesh.visible = mesh.count > 0;
    mesh.instanceMatrix.needsUpdate = mesh.visible;
  }
  const { p } = pose.tip;
  if (parts.mark) parts.mark.position.set(p[0], p[1], p[2]);
  if (parts.payload) {
    parts.payload.position.set(...arm.payload.com).applyMatrix4(matrixOf(pose.tip));
    const { holder } = parts;
    holder.visible = stretch(holder.userData.radius, p, parts.payload.position.toArray());
    if (holder.visible) MATRIX.decompose(holder.position, holder.quaternion, holder.scale);
  }
}

function paintPlain(colour, out) {
  for (let k = 0; k < out.length; k += 3) colour.toArray(out, k);
}

const FROM = new Vector3();
const TO = new Vector3();
const SIZE = new Vector3();
const TURN = new Quaternion();
const Z = new Vector3(0, 0, 1);

// Finds the matrix of a rod between two places, unless it is too short to be seen.
function stretch(radius, from, to) {
  FROM.set(from[0], from[1], from[2]);
  TO.set(to[0], to[1], to[2]).sub(FROM);
  const length = TO.length();
  if (!(length > 0.3 * radius)) return false;
  FROM.addScaledVector(TO, 0.5);
  TURN.setFromUnitVectors(Z, TO.divideScalar(length));
  MATRIX.compose(FROM, TURN, SIZE.set(radius, radius, length));
  return true;
}

function addRod(rods, radius, from, to) {
  if (stretch(radius, from, to)) rods.setMatrixAt(rods.count++, MATRIX);
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

function addJoint({ mesh, scale }, link, out) {
  const at = grows(link) ? out.root : out.joint;
  TURN.setFromRotationMatrix(matrixOf(at));
  if (grows(link) || link.rides) TURN.multiply(ALONG_X);
  TO.set(at.p[0], at.p[1], at.p[2]);
  // The beam leaves its hub at the mouth, which is the root.
  if (grows(link)) TO.add(FROM.set(0, 0, -scale.z / 2).applyQuaternion(TURN));
  mesh.setMatrixAt(mesh.count++, MATRIX.compose(TO, TURN, scale));
}

// What of a sliding beam has not come out is behind its hub's mouth.
function placeInside({ materials }, { tube, colours }, link, out) {
  const behind = Math.max(link.length - out.exposed, 1e-9);
  const { R, p } = out.root;
  const centres = [p[0] - behind * R[0], p[1] - behind * R[3], p[2] - behind * R[6], ...p];
  paintPlain(materials.plain, colours);
  bendTube(tube, centres, [...R, ...R]);
  paintTube(tube, colours);
}
