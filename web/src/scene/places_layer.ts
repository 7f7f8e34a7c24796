/** Places and anchors on the floor: a glow where the robot has been, coloured by place, and the ways between. */

import {
  BufferAttribute,
  BufferGeometry,
  CircleGeometry,
  Color,
  Group,
  InstancedMesh,
  LineBasicMaterial,
  LineSegments,
  type Material,
  Matrix4,
  ShaderMaterial,
} from "three";

import type { Place, Vec3 } from "../model";
import type { Palette } from "../theme";

const GLOW_RADIUS = 0.95;
/** metres; anchors nearer to one another than this share a glow or a ring, however often the robot came by */
const GLOW_RASTER = 0.7;
const RING_RASTER = 0.3;
const HEIGHT = 0.03;

// drawn a little nearer than they lie: points of the floor are as thick as the cloud's raster and must not poke through
const FLAT_VERTEX = /* glsl */ `
varying vec2 spot;
varying vec3 ink;
void main() {
  spot = uv * 2.0 - 1.0;
  ink = instanceColor;
  vec4 seen = viewMatrix * modelMatrix * instanceMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * seen;
  vec4 nearer = projectionMatrix * vec4(seen.xyz * (1.0 - 0.16 / length(seen.xyz)), 1.0);
  gl_Position.z = nearer.z / nearer.w * gl_Position.w;
}`;

const FLAT_FRAGMENT = /* glsl */ `
uniform float softness;
varying vec2 spot;
varying vec3 ink;
void main() {
  float far = length(spot);
  float edge = fwidth(far) * 1.5;
  float ring = smoothstep(0.6 - edge, 0.6, far) * (1.0 - smoothstep(1.0 - edge, 1.0, far));
  float alpha = mix(ring * 0.9, (1.0 - smoothstep(0.1, 1.0, far)) * 0.09, softness);
  if (alpha < 0.005) discard;
  gl_FragColor = vec4(ink, alpha);
  #include <colorspace_fragment>
}`;

export interface PlaceName {
  readonly place: Place;
  readonly spots: readonly Vec3[];
}

export class PlacesLayer {
  readonly group = new Group();

  private readonly glow = flat(1);
  private readonly ring = flat(0);
  private readonly way = new LineBasicMaterial({ transparent: true, opacity: 0.4 });
  private palette: Palette | null = null;
  private known: readonly Place[] = [];
  private places: readonly Place[] = [];
  private reached: ((at: readonly [number, number]) => boolean) | null = null;
  private floor = 0;

  show(places: readonly Place[]): void {
    this.known = places;
    this.keep();
  }

  /** In the past, only what the robot had reached by then; null shows all. */
  travel(reached: ((at: readonly [number, number]) => boolean) | null): void {
    if (!reached && !this.reached) return;
    this.reached = reached;
    this.keep();
  }

  private keep(): void {
    const { reached } = this;
    this.places = reached ? this.known.map((place) => ({ ...place, anchors: place.anchors.filter(({ at }) => reached(at)) })) : this.known;
    this.rebuild();
  }

  lieAt(floor: number): void {
    this.floor = floor;
    this.group.position.z = floor + HEIGHT;
  }

  /** Where a place's name may stand: amid its anchors, else at one of them. */
  names(): PlaceName[] {
    return this.places
      .filter((place) => place.name && place.anchors.length > 0)
      .map((place) => {
        const share = 1 / place.anchors.length;
        const x = place.anchors.reduce((sum, { at }) => sum + at[0] * share, 0);
        const y = place.anchors.reduce((sum, { at }) => sum + at[1] * share, 0);
        const away = ([ax, ay]: readonly [number, number]): number => Math.hypot(ax - x, ay - y);
        const others = place.anchors.map(({ at }) => at).sort((a, b) => away(a) - away(b));
        const spots = [[x, y, this.floor] as const, ...others.map((at) => [...at, this.floor] as const)];
        return { place, spots };
      });
  }

  paint(palette: Palette): void {
    this.palette = palette;
    this.way.color = new Color(palette.grid);
    this.rebuild();
  }

  private rebuild(): void {
    for (const child of this.group.children) {
      if (child instanceof InstancedMesh) child.dispose();
      else if (child instanceof LineSegments) child.geometry.dispose();
    }
    this.group.clear();
    const anchors = this.places.flatMap((place) => place.anchors.map((anchor) => ({ anchor, place })));
    if (!anchors.length || !this.palette) return;
    const inks = this.palette.places;
    const colourOf = (place: Place): string => inks[place.id % inks.length] ?? "#888888";
    const glow = spread(thinned(anchors, GLOW_RASTER), new CircleGeometry(GLOW_RADIUS, 32), this.glow, colourOf);
    const rings = spread(thinned(anchors, RING_RASTER), new CircleGeometry(0.07, 24), this.ring, colourOf);
    glow.renderOrder = 1;
    rings.renderOrder = 2;
    this.group.add(glow, rings, this.ways(anchors.map(({ anchor }) => anchor)));
  }

  private ways(anchors: readonly Place["anchors"][number][]): LineSegments {
    const byId = new Map(anchors.map((anchor) => [anchor.id, anchor]));
    const ends: number[] = [];
    for (const anchor of anchors) {
      for (const id of anchor.neighbours) {
        const other = byId.get(id);
        if (other && anchor.id < id) ends.push(...anchor.at, 0, ...other.at, 0);
      }
    }
    const geometry = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(ends), 3));
    return new LineSegments(geometry, this.way);
  }
}

function flat(softness: number): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: FLAT_VERTEX,
    fragmentShader: FLAT_FRAGMENT,
    uniforms: { softness: { value: softness } },
    transparent: true,
    depthWrite: false,
  });
}

interface Placed {
  readonly anchor: Place["anchors"][number];
  readonly place: Place;
}

/** One anchor of each place in every cell of a raster. */
function thinned(anchors: readonly Placed[], raster: number): Placed[] {
  const cells = new Map<string, Placed>();
  for (const placed of anchors) {
    const [x, y] = placed.anchor.at;
    const cell = `${placed.place.id} ${Math.round(x / raster)} ${Math.round(y / raster)}`;
    if (!cells.has(cell)) cells.set(cell, placed);
  }
  return [...cells.values()];
}

/** The same flat shape at every anchor, in the colour of its place. */
function spread(anchors: readonly Placed[], shape: BufferGeometry, material: Material, colourOf: (place: Place) => string): InstancedMesh {
  const mesh = new InstancedMesh(shape, material, anchors.length);
  const matrix = new Matrix4();
  const colour = new Color();
  anchors.forEach(({ anchor, place }, row) => {
    mesh.setMatrixAt(row, matrix.makeTranslation(anchor.at[0], anchor.at[1], 0));
    mesh.setColorAt(row, colour.set(colourOf(place)));
  });
  mesh.frustumCulled = false;
  return mesh;
}
