// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The event sink: what machines report about themselves, inside the tunnel.
 *
 * @module
 */

import { create, fromBinary } from "@bufbuild/protobuf";
import { EventResponseSchema, EventSinkService } from "../proto/gen/siderolink/events_pb.ts";
import {
  type MachineStatusEvent,
  MachineStatusEventSchema,
} from "../proto/gen/talos/machine_pb.ts";
import { implementService, type Service } from "../rpc/service.ts";

/** An event as received. */
export interface MachineEvent {
  /** The machine's own ID of the event; a repeated delivery carries the same one. */
  readonly id: string;
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** Takes events; the sender is known by its tunnel address alone. */
export interface EventPort {
  /**
   * Settles when the event is stored, which acknowledges it: on an error the machine sends the same
   * event again. Throws `permissionDenied` for an address that belongs to no machine.
   */
  publish(remoteAddress: string, event: MachineEvent): Promise<void>;
}

/** The event sink service over a port that stores. */
export function eventSinkService(port: EventPort): Service {
  return implementService(EventSinkService, {
    publish: async (request, { remoteAddress }) => {
      await port.publish(remoteAddress, {
        id: request.id,
        typeUrl: request.data?.typeUrl ?? "",
        value: request.data?.value ?? new Uint8Array(),
      });
      return create(EventResponseSchema);
    },
  });
}

// A machine's own Events call uses the longer prefix for the same messages.
const STATUS_TYPE = /(?:^|\/)machine\.MachineStatusEvent$/;

/** The status that an event carries, or `undefined` for every other and for malformed ones. */
export function statusOf(event: MachineEvent): MachineStatusEvent | undefined {
  if (!STATUS_TYPE.test(event.typeUrl)) return undefined;
  try {
    return fromBinary(MachineStatusEventSchema, event.value);
  } catch {
    return undefined;
  }
}
