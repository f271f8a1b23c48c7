// a call -> the approved copy, shut in: name as argument, arguments as JSON on stdin -> what it printed
import { join } from 'node:path';
import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../../core/authority.ts';
import type { ReadSecret } from '../../core/channel.ts';
import { errorText, isGatehouseError } from '../../core/errors.ts';
import type { Json } from '../../core/message.ts';
import type { Exit, RunSpawner } from '../../core/process.ts';
import type { Tool, ToolContext } from '../../core/tool.ts';
import { visibleText } from '../../lib/visible-text.ts';
import { workspaceLock } from '../../workspace/workspace-lock.ts';
import { failureText, ToolFailure } from '../define.ts';
import { modelSchema } from '../model-schema.ts';
import { programApproval } from '../program-approval.ts';
import { type ManifestTool, pluginToolId } from './manifest.ts';
import type { PluginState } from './state.ts';

/** Of each stream; of what is longer the beginning and the end are kept. */
const OUTPUT_BYTES = 1024 ** 2;
/** Of what it said of its progress, where it fails. UTF-16 units. */
const MAX_SAID = 2_000;

/** What it prints to be understood; anything else is shown to the model as it is. */
const answerSchema = z.object({
  output: z.string(),
  success: z.boolean(),
  /** The file that it changed. */
  file_modified: z.string().max(1_000).optional(),
});

export type UsablePlugin = Required<Pick<PluginState, 'name' | 'code' | 'approval' | 'home'>>;

export interface CallDeps {
  readonly spawner: RunSpawner;
  readonly secret: ReadSecret;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  /** Why what was approved may not run any more; asked before each call. */
  readonly problem: () => Promise<string | undefined>;
  /** Takes what it says of its progress. */
  readonly onProgress: (line: string, show: ToolContext['progress']) => void;
}

/** A tool of an approved plugin for the calls of one run. */
export function pluginTool(plugin: UsablePlugin, tool: ManifestTool, deps: CallDeps): Tool {
  const { name, code, approval } = plugin;
  const { digest, manifest } = code;
  const { name: toolName, description, input_schema: schema, effect } = tool;
  const network = manifest.requires_network && approval.network;
  const isContained = deps.spawner.isContained && !network;
  return {
    name: pluginToolId(name, toolName),
    description: `[plugin ${name}] ${description}`,
    parameters: modelSchema(schema),
    tags: ['plugin', `plugin:${name}`],
    // Only what is shut in can be believed: with the network, a look can carry out what it sees.
    effect: approval.effects && isContained ? effect : 'outside',
    act: 'program',
    // As of shell: it prints any file of the workspace.
    reads: UNTRUSTED | PRIVATE,
    needs: 'sh',
    bindsWorkspace: true,
    outputBytes: 50_000,
    async approval(_args, call) {
      const bounds = { ...deps.spawner.bounds, network };
      const { digest: workspace, shown } = await programApproval({ command: '', bounds }, call);
      const facts: Json = { plugin: digest, network, workspace };
      return { digest: facts, shown: `${manifest.version} of plugin ${name}${network ? ', with the network' : ''}\n${shown}` };
    },
    run: async (args, context) => {
      try {
        return await call(plugin, tool, { ...deps, network }, args, context);
      } catch (error) {
        const text = failureText(error);
        if (text === undefined) throw error;
        return { ok: false, output: `Error: ${text}` };
      }
    },
  };
}

async function call(
  { name, code, home }: UsablePlugin,
  tool: ManifestTool,
  deps: CallDeps & { readonly network: boolean },
  args: unknown,
  context: ToolContext,
): Promise<{ readonly ok: boolean; readonly output: string }> {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new ToolFailure('the arguments must be one JSON object');
  const { callId, workspace: cwd, signal, progress } = context;
  const { spawner, network, redact } = deps;
  const { manifest, executable = '' } = code;
  const env = environmentOf(manifest.env, deps.secret);
  const timeoutMs = manifest.timeout_secs * 1_000;
  using _ = await workspaceLock.write(context);
  // The last thing before it runs: what came before may have taken its time.
  const problem = await deps.problem();
  if (problem !== undefined) throw new ToolFailure(problem);
  const exit = await spawner.run(
    {
      ...{
        argv: [join(home, executable), tool.name],
        cwd,
        home,
        callId,
        network,
        timeoutMs,
        outputBytes: OUTPUT_BYTES,
        writes: true,
      },
      env: { ...env, GATEHOUSE_WORK_DIR: cwd },
      stdin: JSON.stringify(args),
      onProgress: (line) => deps.onProgress(line, progress),
    },
    signal,
  );
  const { ok, output } = resultOf(exit, { name, seconds: manifest.timeout_secs });
  return { ok, output: redact(visibleText(output)) };
}

function environmentOf(names: readonly string[], secret: ReadSecret): Readonly<Record<string, string>> {
  try {
    return Object.fromEntries(names.map((name) => [name, secret(name)]));
  } catch (error) {
    if (isGatehouseError(error)) throw new ToolFailure(`${errorText(error)}, and the plugin needs it`);
    throw error;
  }
}

function resultOf(
  { code, timedOut, out, err }: Exit,
  { name, seconds }: { readonly name: string; readonly seconds: number },
): { readonly ok: boolean; readonly output: string } {
  const answer = answerOf(out);
  const text = answer?.output ?? out.trimEnd();
  const said = err.trim().slice(-MAX_SAID);
  if (timedOut || code !== 0) {
    const how = code === null ? 'was ended by a signal' : `ended with status ${code}`;
    const late = `timed out after ${seconds} s, and was ended with all that it started`;
    return {
      ok: false,
      output: [`Error: plugin ${name} ${timedOut ? late : how}`, text, said].filter((part) => part !== '').join('\n'),
    };
  }
  if (answer?.success === false) return { ok: false, output: `Error: ${text === '' ? 'the plugin gives no reason' : text}` };
  const changed = answer?.file_modified === undefined ? [] : [`(changed: ${answer.file_modified})`];
  return { ok: true, output: [text === '' ? '(no output)' : text, ...changed].join('\n') };
}

function answerOf(out: string): z.output<typeof answerSchema> | undefined {
  if (!out.trimStart().startsWith('{')) return undefined;
  try {
    return answerSchema.safeParse(JSON.parse(out)).data;
  } catch {
    return undefined; // not JSON
  }
}
