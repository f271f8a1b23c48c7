/** What was approved once, and must be approved again when it changes (runs.md M8). */

export interface Pin {
  /** `mcp`: a tool of an MCP server. `plugin`: a plugin, or one thing that it may do. */
  readonly kind: 'mcp' | 'plugin';
  /** Of a tool: `server/tool`, the tool as the server names it. Of a plugin: see `tools/plugins/pin.ts`. */
  readonly name: string;
  /** SHA-256 of what was approved, hexadecimal. */
  readonly digest: string;
  /** `cli`, or `first-use` where the config says that what is seen first is approved. */
  readonly by: string;
  /** Epoch ms. */
  readonly at: number;
}

export interface Pins {
  /** By name. */
  of(kind: Pin['kind']): Promise<readonly Pin[]>;
}

/** As a row of a commit: in place of one of the same name. `gone`: the approval is taken back. */
export type PinWrite =
  | { readonly kind: 'pin'; readonly pin: Omit<Pin, 'at'> }
  | { readonly kind: 'pin'; readonly gone: Pick<Pin, 'kind' | 'name'> };
