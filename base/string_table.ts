// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A map whose keys are very many strings.
 *
 * The runtime's own `Map` and `Set` take each string that becomes a key into the table of all unique
 * strings, and every collection of the old generation goes through that table twice while the program
 * stands still: 10 ms for 600,000 of them. Here a key stays an ordinary string.
 *
 * Open addressing with linear probing, three quarters full at most.
 *
 * @module
 */

const LEAST_PLACES = 8;

/** Differs from process to process, so that nobody prepares keys that all meet in one place. */
const SEED = crypto.getRandomValues(new Int32Array(1))[0] ?? 0;

/** Values by string. */
export class StringTable<V> {
  #keys: (string | undefined)[] = emptyPlaces(LEAST_PLACES);
  #values: (V | undefined)[] = emptyPlaces(LEAST_PLACES);
  /** Hashes of the keys: a table that grows does not have to read them all again. */
  #hashes = new Int32Array(LEAST_PLACES);
  #mask = LEAST_PLACES - 1;
  #size = 0;

  /** How many keys there are. */
  get size(): number {
    return this.#size;
  }

  /** The value of a key. */
  get(key: string): V | undefined {
    return this.#values[this.#placeOf(key, hashOf(key))];
  }

  /** Sets the value of a key. */
  set(key: string, value: V): void {
    const hash = hashOf(key);
    const place = this.#placeOf(key, hash);
    this.#values[place] = value;
    if (this.#keys[place] !== undefined) return;
    this.#keys[place] = key;
    this.#hashes[place] = hash;
    this.#size++;
    const places = this.#mask + 1;
    if (4 * this.#size > 3 * places) this.#resize(2 * places);
  }

  /** Removes a key; returns whether it was there. */
  delete(key: string): boolean {
    const place = this.#placeOf(key, hashOf(key));
    if (this.#keys[place] === undefined) return false;
    this.#close(place);
    this.#size--;
    const places = this.#mask + 1;
    if (places > LEAST_PLACES && 8 * this.#size < places) this.#resize(places / 2);
    return true;
  }

  /** All values, in no order. */
  *values(): Iterable<V> {
    for (const [place, key] of this.#keys.entries()) {
      if (key !== undefined) yield this.#values[place] as V;
    }
  }

  /** The place of a key, or the free one where it would go. */
  #placeOf(key: string, hash: number): number {
    let place = hash & this.#mask;
    for (let other = this.#keys[place]; other !== undefined; other = this.#keys[place]) {
      if (this.#hashes[place] === hash && other === key) break;
      place = (place + 1) & this.#mask;
    }
    return place;
  }

  /** Empties a place, and moves what follows closer to where it belongs: a search ends at a gap. */
  #close(place: number): void {
    let gap = place;
    for (
      let at = (gap + 1) & this.#mask;
      this.#keys[at] !== undefined;
      at = (at + 1) & this.#mask
    ) {
      const home = (this.#hashes[at] as number) & this.#mask;
      if (((at - home) & this.#mask) < ((at - gap) & this.#mask)) continue;
      this.#move(at, gap);
      gap = at;
    }
    this.#keys[gap] = undefined;
    this.#values[gap] = undefined;
  }

  #move(from: number, to: number): void {
    this.#keys[to] = this.#keys[from];
    this.#values[to] = this.#values[from];
    this.#hashes[to] = this.#hashes[from] as number;
  }

  #resize(places: number): void {
    const [keys, values, hashes] = [this.#keys, this.#values, this.#hashes];
    this.#keys = emptyPlaces(places);
    this.#values = emptyPlaces(places);
    this.#hashes = new Int32Array(places);
    this.#mask = places - 1;
    for (let from = 0; from < keys.length; from++) {
      if (keys[from] === undefined) continue;
      const hash = hashes[from] as number;
      let place = hash & this.#mask;
      while (this.#keys[place] !== undefined) place = (place + 1) & this.#mask;
      this.#keys[place] = keys[from];
      this.#values[place] = values[from];
      this.#hashes[place] = hash;
    }
  }
}

function emptyPlaces<T>(count: number): (T | undefined)[] {
  return new Array<T | undefined>(count).fill(undefined);
}

/** 32 bits, mixed as MurmurHash3 does. */
function hashOf(text: string): number {
  let hash = SEED ^ text.length;
  for (let i = 0; i < text.length; i++) {
    let word = Math.imul(text.charCodeAt(i), 0xcc9e2d51);
    word = Math.imul((word << 15) | (word >>> 17), 0x1b873593);
    hash ^= word;
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64 | 0;
  }
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
