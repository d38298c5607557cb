// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The nodes of one emulated Kubernetes cluster.
 *
 * @module
 */

/** What a kubelet says about its machine. */
export interface NodeSpec {
  readonly name: string;
  readonly machineId: string;
  readonly addresses: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly isControlPlane: boolean;
  /** With `v`. */
  readonly kubeletVersion: string;
  readonly osImage: string;
}

/** A node as it is stored. */
export interface NodeRecord {
  readonly spec: NodeSpec;
  readonly uid: string;
  readonly createdMs: number;
  readonly resourceVersion: number;
  readonly isReady: boolean;
  readonly unschedulable: boolean;
  /** When its kubelet fell silent; absent while it reports. */
  readonly silentSinceMs?: number;
}

/** A change for watchers. */
export interface NodeChange {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly node: NodeRecord;
}

/** The nodes by name. */
export class NodeTable {
  readonly #nodes = new Map<string, NodeRecord>();
  readonly #listeners = new Set<(change: NodeChange) => void>();
  readonly #nowMs: () => number;
  #version = 1;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The number of the last change. */
  get resourceVersion(): number {
    return this.#version;
  }

  /** Adds a node or takes over the one of this name. */
  register(spec: NodeSpec): void {
    const old = this.#nodes.get(spec.name);
    if (old !== undefined) {
      const { silentSinceMs: _, ...rest } = old;
      this.#store({ ...rest, spec });
      return;
    }
    const node: NodeRecord = {
      spec,
      uid: crypto.randomUUID(),
      createdMs: this.#nowMs(),
      resourceVersion: ++this.#version,
      isReady: false,
      unschedulable: false,
    };
    this.#nodes.set(spec.name, node);
    this.#publish({ type: "ADDED", node });
  }

  /** Changes what is known of a node; returns it, or `undefined` when there is none. */
  edit(
    name: string,
    changes: Partial<Pick<NodeRecord, "isReady" | "unschedulable">>,
  ): NodeRecord | undefined {
    const old = this.#nodes.get(name);
    return old === undefined ? undefined : this.#store({ ...old, ...changes });
  }

  /** The kubelet of a node stopped reporting. */
  silence(name: string): void {
    const old = this.#nodes.get(name);
    if (old !== undefined) this.#store({ ...old, silentSinceMs: this.#nowMs() });
  }

  /** Removes a node; false when there was none. */
  remove(name: string): boolean {
    const node = this.#nodes.get(name);
    if (node === undefined) return false;
    this.#nodes.delete(name);
    this.#publish({ type: "DELETED", node: { ...node, resourceVersion: ++this.#version } });
    return true;
  }

  /** Removes all. */
  clear(): void {
    for (const name of [...this.#nodes.keys()]) this.remove(name);
  }

  /** The node of a name. */
  find(name: string): NodeRecord | undefined {
    return this.#nodes.get(name);
  }

  /** All nodes by name. */
  list(): NodeRecord[] {
    return [...this.#nodes.values()].sort((a, b) => a.spec.name < b.spec.name ? -1 : 1);
  }

  /** Calls back at every change until the returned function is called. */
  subscribe(listener: (change: NodeChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #store(node: NodeRecord): NodeRecord {
    const stored = { ...node, resourceVersion: ++this.#version };
    this.#nodes.set(node.spec.name, stored);
    this.#publish({ type: "MODIFIED", node: stored });
    return stored;
  }

  #publish(change: NodeChange): void {
    for (const listener of [...this.#listeners]) listener(change);
  }
}
