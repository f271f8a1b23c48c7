/** What a connection to Discord's gateway is asked for, and how it ends. */

/** Where a session of the gateway stands: enough to go on with it on another connection. */
export interface Session {
  readonly id: string;
  readonly url: string;
  /** Of the last event received, or committed where it is kept. */
  readonly seq: number;
}

/** An event as it came. */
export interface Packet {
  readonly t: string;
  readonly s: number;
  readonly d: unknown;
  /** The session it belongs to; `s` counts within it. */
  readonly session: Session | undefined;
}

export interface GatewayOptions {
  readonly intents: number;
  /** Goes on with it, or begins a new one. */
  readonly session: Session | undefined;
  readonly onPacket: (packet: Packet) => void;
  /** Closes the connection in a way that leaves the session resumable. */
  readonly signal: AbortSignal;
}

/** How a connection ended. */
export interface GatewayEnd {
  /** Close code of the platform, if it gave one. */
  readonly code: number | undefined;
  /** In words, for an operator. */
  readonly detail: string;
  /** What can be resumed; undefined when the session is over. */
  readonly session: Session | undefined;
}

/** What the SDK tells of a session. */
export interface SessionInfo {
  readonly sessionId: string;
  readonly resumeURL: string;
  readonly sequence: number;
}
