/** All that a plugin says of itself and would get, for a person to decide on. */
import type { McpServerEntry } from '../../config/sections/mcp.ts';
import { counted } from '../lib/counted.ts';
import { printable, printableBlock } from '../lib/printable.ts';
import { spellOut } from '../lib/spell-out.ts';
import type { PluginCode } from '../tools/plugins/code.ts';
import { type Manifest, pluginToolId } from '../tools/plugins/manifest.ts';

const KIB = 1_024;

/** `wanted`: what the plugin asks for that the operator says yes to one by one. */
export function pluginText({ manifest, digest, files, bytes }: PluginCode): string {
  const { name, version, description, tools, requires_network: network, env, binaries, timeout_secs: seconds } = manifest;
  return printableBlock(
    [
      `${name} ${spelt(version)}: ${spelt(description)}`,
      `  ${counted(files, 'file')}, ${Math.ceil(bytes / KIB)} KiB, digest ${digest}`,
      ...tools.flatMap((tool) => toolLines(name, tool)),
      `  network: ${network ? 'wanted' : 'none'}`,
      `  variables of the environment: ${env.join(', ') || 'none'}`,
      ...(binaries.length === 0 ? [] : [`  programs that it calls: ${binaries.join(', ')}`]),
      `  longest call: ${seconds} s`,
      ...Object.entries(manifest.mcp_servers).map(([server, entry]) => `  wants ${serverText(server, entry)}`),
      ...manifest.hooks.map((hook, at) => `  wants ${hookText(at, hook)}`),
    ].join('\n'),
  );
}

/** A program of a server or a hook is in no sandbox. */
const BARE = 'It runs as you do, outside the sandbox, with the network';

export function serverText(server: string, entry: McpServerEntry): string {
  const where = entry.command === undefined ? '' : ` ${BARE}.`;
  return `MCP server ${server}.${where} ${indented(spellOut(entry))}`;
}

export function hookText(at: number, hook: Manifest['hooks'][number]): string {
  return `hook ${at}, ${hook.event}. ${BARE}, and is told what is said. ${indented(spellOut(hook))}`;
}

function toolLines(plugin: string, tool: Manifest['tools'][number]): readonly string[] {
  const { name, description, input_schema: schema, effect } = tool;
  return [
    `  tool ${pluginToolId(plugin, name)}, which changes: ${effect}`,
    ...description.split('\n').map((line) => `    ${spelt(line)}`),
    ...spellOut(schema)
      .split('\n')
      .map((line) => `    ${line}`),
  ];
}

function indented(text: string): string {
  return text.split('\n').join('\n    ');
}

/** As JSON spells it, where a person would not see all of it. */
function spelt(line: string): string {
  const text = spellOut(line);
  return text === JSON.stringify(line) ? printable(line) : text;
}
