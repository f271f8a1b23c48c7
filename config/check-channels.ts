import type { z } from 'zod';
import { nearest } from '../src/lib/edit-distance.ts';
import { type Checked, checkValue, describeChoice, type Finding, valueAt } from './check-value.ts';
import type { Config } from './schema.ts';
import type { ChannelEntry } from './sections/channels.ts';

export interface ChannelSchemas {
  /** The settings schema of a channel type; undefined for an unknown type. Loads the channel's descriptor. */
  readonly channelSettings: (type: string) => Promise<z.ZodType | undefined>;
  readonly channelTypes: readonly string[];
}

/** Checks what the schema of the whole file cannot: types that exist, names used once, and each channel's own settings. */
export async function checkChannels(config: Config, original: unknown, schemas: ChannelSchemas): Promise<Checked<Config>> {
  const findings: Finding[] = [];
  const channels: ChannelEntry[] = [];
  const names = new Set<string>();
  for (const [index, entry] of config.gateway.channels.entries()) {
    const path = ['gateway', 'channels', index];
    findings.push(...checkName(entry, path, names));
    const schema = schemas.channelTypes.includes(entry.type) ? await schemas.channelSettings(entry.type) : undefined;
    if (!schema) {
      const written = valueAt(original, [...path, 'type']);
      findings.push({
        severity: 'error',
        path: [...path, 'type'],
        ...describeChoice(schemas.channelTypes, written ?? entry.type),
      });
      continue;
    }
    const settingsPath = [...path, 'settings'];
    const checked = checkValue(schema, entry.settings, valueAt(original, settingsPath) ?? {});
    findings.push(...checked.findings.map((finding) => ({ ...finding, path: [...settingsPath, ...finding.path] })));
    channels.push({ ...entry, settings: checked.data as Record<string, unknown> });
  }
  const failed = findings.some((finding) => finding.severity === 'error');
  return { data: failed ? undefined : { ...config, gateway: { ...config.gateway, channels } }, findings };
}

function checkName(entry: ChannelEntry, path: readonly PropertyKey[], names: Set<string>): Finding[] {
  const name = entry.name ?? entry.type;
  if (!names.has(name)) {
    names.add(name);
    return [];
  }
  return [
    {
      severity: 'error',
      path: entry.name === undefined ? path : [...path, 'name'],
      message: `a channel named "${name}" exists already`,
      hint: 'give each channel of the same type its own "name"',
    },
  ];
}

/** The usual misplacement: a setting of the channel written next to `type` instead of inside `settings`. */
export async function hintMisplacedSetting(finding: Finding, value: unknown, schemas: ChannelSchemas): Promise<Finding> {
  const [section, list, index, key, ...rest] = finding.path;
  if (finding.atKey !== true || section !== 'gateway' || list !== 'channels' || rest.length > 0 || key === undefined)
    return finding;
  const type = valueAt(value, [section, list, index ?? 0, 'type']);
  if (typeof type !== 'string' || !schemas.channelTypes.includes(type)) return finding;
  const schema = await schemas.channelSettings(type);
  const settings = schema && 'shape' in schema && typeof schema.shape === 'object' ? Object.keys(schema.shape ?? {}) : [];
  const meant = settings.includes(String(key)) ? String(key) : undefined;
  const near = finding.hint?.startsWith('did you mean') ? undefined : nearest(String(key), settings);
  const setting = meant ?? near;
  return setting === undefined ? finding : { ...finding, hint: `"${setting}" belongs in "settings" of this channel` };
}
