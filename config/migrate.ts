import { CONFIG_VERSION } from './schema.ts';

type ConfigObject = Readonly<Record<string, unknown>>;

/**
 * Steps from one version to the next: entry n turns a file of version n into one of version n + 1. They apply
 * in memory only; the operator's file is never rewritten.
 */
const STEPS: Readonly<Record<number, (config: ConfigObject) => ConfigObject>> = {};

export type Migration =
  | { readonly kind: 'ok'; readonly value: unknown }
  | { readonly kind: 'refused'; readonly message: string; readonly hint: string };

/**
 * Brings a parsed file to the present version. A file without `version` is version 1. What is no object is
 * left to the schema.
 */
export function migrate(value: unknown): Migration {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return { kind: 'ok', value };
  let config: ConfigObject = { ...value };
  const written = Object.hasOwn(config, 'version') ? config['version'] : 1;
  if (typeof written !== 'number' || !Number.isInteger(written) || written < 1) {
    return { kind: 'refused', message: 'version must be a whole number', hint: `write "version": ${CONFIG_VERSION}` };
  }
  if (written > CONFIG_VERSION) {
    return {
      kind: 'refused',
      message: `this file has version ${written}; this gatehouse understands version ${CONFIG_VERSION}`,
      hint: 'upgrade gatehouse, or use the config of this version',
    };
  }
  for (let version = written; version < CONFIG_VERSION; version++) config = STEPS[version]?.(config) ?? config;
  return { kind: 'ok', value: { ...config, version: CONFIG_VERSION } };
}
