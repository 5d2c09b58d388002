// What carries the arm: a foot on the ground, a plate above an arm that hangs, or the body of a free base.
import { BoxGeometry, CylinderGeometry, Group, Mesh, MeshStandardMaterial, Quaternion, Vector3 } from "three";

const Y = new Vector3(0, 1, 0);
const HANGS = 0.35; // of the height of its base, which an arm that hangs does not rise above it

/** Adds the stand of an arm to a stage's surroundings; a moving base takes its body along. */
export function addStand(stage, arm, reach) {
  const material = new MeshStandardMaterial({ roughness: 0.8 });
  const group = new Group();
  const size = 0.035 * reach;
  if (arm.base.kind === "fixed") {
    const base = new Vector3(...arm.base.pose.p);
    const height = base.clone().sub(stage.box.floor).dot(stage.up);
    const above = stage.box.top - base.dot(stage.up);
    const hangs = height > 4 * size && above < HANGS * height;
    const foot = new Mesh(new CylinderGeometry(1.5 * size, 1.7 * size, 0.35 * size, 40), material);
    // An arm may swing through where its column stands: a tall one is no more than a hint.
    const tall = height > 4 * size;
    const width = tall ? 0.12 * size : 0.5 * size;
    const hint = new MeshStandardMaterial({ roughness: 0.8, transparent: true, opacity: 0.45 });
    const column = new Mesh(new CylinderGeometry(width, width, height, 24), tall ? hint : material);
    foot.position.set(0, 0.17 * size - height, 0);
    column.position.set(0, -height / 2, 0);
    const plate = new Mesh(new BoxGeometry(3.6 * size, 0.35 * size, 3 * size), material);
    const stub = new Mesh(new CylinderGeometry(0.5 * size, 0.5 * size, 1.2 * size, 24), material);
    plate.position.set(0, 1.3 * size, 0);
    stub.position.set(0, 0.6 * size, 0);
    group.add(...(hangs ? [plate, stub] : [foot, column]));
    group.quaternion.copy(new Quaternion().setFromUnitVectors(Y, stage.up));
    group.position.copy(base);
  } else {
    group.add(new Mesh(new BoxGeometry(2.6 * size, 2.2 * size, 2.2 * size), material));
  }
  group.visible = !arm.base.mesh; // which is drawn with the arm
  for (const mesh of group.children) mesh.castShadow = mesh.receiveShadow = true;
  stage.around.add(group);
  const materials = new Set(group.children.map((mesh) => mesh.material));
  stage.stand = { group, materials, moves: arm.base.kind !== "fixed" };
}

/** Moves a moving base's body. */
export function placeStand({ stand }, base) {
  if (!stand.moves) return;
  const { R, p } = base;
  stand.group.matrixAutoUpdate = false;
  stand.group.matrix.set(
    R[0], R[1], R[2], p[0], R[3], R[4], R[5], p[1], R[6], R[7], R[8], p[2], 0, 0, 0, 1,
  );
}
