import type { Signer } from '../protocols/wire-guard.ts';

/** How a server is spoken to. */
export type Wire = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini';

export type Env = Readonly<Record<string, string | undefined>>;

/** What stands in place of a key where requests are signed. */
export interface Credentials {
  /** The variable that they are known by. */
  readonly from: string;
  /** Values that no text may show. */
  readonly secrets: () => readonly string[];
  readonly sign: Signer;
}

/** What differs between providers: data only. What is known of their models is in `../catalog`. */
export interface Provider {
  readonly name: string;
  /** Other names the config may use. */
  readonly aliases: readonly string[];
  /** What it speaks unless the model or `api_type` asks for another of its wires. */
  readonly wire: Wire;
  /** Models that want another wire than `wire`; the first pattern that matches the name wins. */
  readonly modelWires?: readonly (readonly [RegExp, Wire])[];
  /** Further wires its own server understands, chosen by `api_type`. */
  readonly otherWires?: readonly Wire[];
  /** Environment variable of the key. */
  readonly keyEnv?: string;
  /** False: a call without a key is fine. */
  readonly keyRequired: boolean;
  /** Absent where the operator must name it. With the version, unless the wire (Anthropic) adds it itself. */
  readonly baseUrl?: string;
  /** The header that carries the key, where it is not the usual one of the wire. */
  readonly keyHeader?: string;
  /** In place of `baseUrl` where the account decides it; undefined while `addressEnv` is not set. */
  readonly address?: (env: Env, wire: Wire, model: string) => string | undefined;
  readonly addressEnv?: string;
  /** Undefined where a key is sent, or there is nothing to sign with. */
  readonly credentials?: (env: Env, wire: Wire, model: string) => Credentials | undefined;
  /** Environment variable that replaces `baseUrl`, where the provider's own tools know one. */
  readonly baseUrlEnv?: string;
  /** A model name that contains one of these belongs here when the config names no provider (spec B1). */
  readonly detect: readonly RegExp[];
  /** Tokens this server takes whatever the model could; wins over the catalog. */
  readonly contextWindow?: number;
  /** Whether a model runs, free, on the machine that listens. Absent: calls may go on to a paid service. */
  readonly runsLocally?: (model: string) => boolean;
  /** Which models call tools, where the server decides and not the model alone. */
  readonly callsTools?: (model: string) => boolean;
}
