// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The etcd of one emulated cluster: who is a member, who runs, who leads.
 *
 * There is no data; what matters is which calls succeed. A change of members needs a majority of
 * running voters, as with the real one.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";

/** A member as the cluster lists it. */
export interface EtcdMember {
  readonly id: bigint;
  readonly machineId: string;
  readonly hostname: string;
  readonly peerUrl: string;
  readonly clientUrl: string;
  readonly isLearner: boolean;
}

/** A machine that wants to become a member. */
export type EtcdApplicant = Pick<EtcdMember, "machineId" | "hostname" | "peerUrl" | "clientUrl">;

/** The numbers of one member's status call. */
export interface EtcdStatus {
  readonly memberId: bigint;
  readonly leader: bigint;
  readonly raftTerm: bigint;
  readonly raftIndex: bigint;
  readonly isLearner: boolean;
}

interface State {
  member: EtcdMember;
  isRunning: boolean;
  isLost: boolean;
}

/** Options of {@linkcode EtcdCluster}. */
export interface EtcdClusterOptions {
  /** Called after every change. */
  readonly changed: () => void;
  /** Gives a member its ID: any number of 64 bits but 0. */
  readonly randomId?: () => bigint;
}

/** One cluster's etcd. */
export class EtcdCluster {
  readonly #states = new Map<bigint, State>();
  readonly #changed: () => void;
  readonly #randomId: () => bigint;
  #leader = 0n;
  #raftTerm = 1n;
  #raftIndex = 1n;

  constructor({ changed, randomId = randomMemberId }: EtcdClusterOptions) {
    this.#changed = changed;
    this.#randomId = randomId;
  }

  /** Whether there is any member. */
  isBootstrapped(): boolean {
    return this.#states.size > 0;
  }

  /** Whether a majority of voters runs. */
  hasQuorum(): boolean {
    const voters = this.#voters();
    return voters.filter(({ isRunning }) => isRunning).length * 2 > voters.length;
  }

  /** Whether a member is there and runs. */
  isRunning(id: bigint): boolean {
    return this.#states.get(id)?.isRunning ?? false;
  }

  /**
   * Starts a cluster with one member, which runs.
   *
   * @throws CodedError `alreadyExists` when the cluster has members.
   */
  bootstrap(applicant: EtcdApplicant): EtcdMember {
    if (this.isBootstrapped()) {
      throw new CodedError("alreadyExists", "etcd data directory is not empty");
    }
    return this.#add(applicant, false);
  }

  /**
   * Adds a running learner.
   *
   * @throws CodedError `unavailable` without a majority.
   */
  join(applicant: EtcdApplicant): EtcdMember {
    this.#needQuorum();
    return this.#add(applicant, true);
  }

  /** Makes a learner a voter. */
  promote(id: bigint): void {
    this.#needQuorum();
    const state = this.#get(id);
    state.member = { ...state.member, isLearner: false };
    this.#settle();
  }

  /** Marks a member as running; false when it was removed meanwhile. */
  start(id: bigint): boolean {
    const state = this.#states.get(id);
    if (state === undefined) return false;
    state.isRunning = true;
    this.#settle();
    return true;
  }

  /** Marks a member as not running. */
  stop(id: bigint): void {
    const state = this.#states.get(id);
    if (state === undefined) return;
    state.isRunning = false;
    this.#settle();
  }

  /**
   * Takes a member out; it can never come back.
   *
   * @throws CodedError `notFound`; `unavailable` without a majority; `failedPrecondition` when the
   *   members that stay would have none.
   */
  remove(id: bigint): void {
    const { member } = this.#get(id);
    this.#needQuorum();
    const rest = this.#voters().filter((other) => other.member.id !== id);
    const running = rest.filter(({ isRunning }) => isRunning).length;
    if (!member.isLearner && running < Math.floor(rest.length / 2) + 1) {
      throw new CodedError(
        "failedPrecondition",
        "etcdserver: re-configuration failed due to not enough started members",
      );
    }
    this.#states.delete(id);
    this.#settle();
  }

  /** A member's data is gone without a farewell; when nobody has any, the cluster is gone too. */
  lose(id: bigint): void {
    const state = this.#states.get(id);
    if (state === undefined) return;
    state.isRunning = false;
    state.isLost = true;
    if ([...this.#states.values()].every(({ isLost }) => isLost)) this.#states.clear();
    this.#settle();
  }

  /**
   * All members, learners included.
   *
   * @throws CodedError `unavailable` without a majority.
   */
  list(): EtcdMember[] {
    this.#needQuorum();
    return [...this.#states.values()].map(({ member }) => member);
  }

  /** All members, whether or not anybody could ask for them. */
  members(): EtcdMember[] {
    return [...this.#states.values()].map(({ member }) => member);
  }

  /** Takes over members from before; none of them runs yet. */
  restore(members: readonly EtcdMember[]): void {
    for (const member of members) {
      this.#states.set(member.id, { member, isRunning: false, isLost: false });
    }
  }

  /** Hands leadership to another running voter and returns its host name, or `undefined`. */
  forfeit(id: bigint): string | undefined {
    if (this.#leader !== id) return undefined;
    const next = this.#voters().find((other) => other.isRunning && other.member.id !== id);
    if (next === undefined) return undefined;
    this.#leader = next.member.id;
    this.#raftTerm++;
    this.#settle();
    return next.member.hostname;
  }

  /** The numbers that a member reports; throws `notFound` for an unknown one. */
  status(id: bigint): EtcdStatus {
    const { member } = this.#get(id);
    return {
      memberId: id,
      leader: this.#leader,
      raftTerm: this.#raftTerm,
      raftIndex: this.#raftIndex,
      isLearner: member.isLearner,
    };
  }

  #get(id: bigint): State {
    const state = this.#states.get(id);
    if (state === undefined) throw new CodedError("notFound", "etcdserver: member not found");
    return state;
  }

  #voters(): State[] {
    return [...this.#states.values()].filter(({ member }) => !member.isLearner);
  }

  #needQuorum(): void {
    if (!this.hasQuorum()) throw new CodedError("unavailable", "etcdserver: no leader");
  }

  #add(applicant: EtcdApplicant, isLearner: boolean): EtcdMember {
    const member = { ...applicant, id: this.#randomId(), isLearner };
    this.#states.set(member.id, { member, isRunning: true, isLost: false });
    this.#settle();
    return member;
  }

  #settle(): void {
    this.#raftIndex++;
    this.#elect();
    this.#changed();
  }

  #elect(): void {
    if (this.isRunning(this.#leader) && this.hasQuorum()) return;
    const first = this.#voters().find(({ isRunning }) => isRunning);
    const next = this.hasQuorum() ? first?.member.id ?? 0n : 0n;
    if (next !== this.#leader && next !== 0n) this.#raftTerm++;
    this.#leader = next;
  }
}

function randomMemberId(): bigint {
  const [id = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return id === 0n ? 1n : id;
}
