/** All plugins of the data directory: what of them is approved now, as a source of tools each. */
import { isDeepStrictEqual } from 'node:util';
import type { ReadSecret } from '../../core/channel.ts';
import { errorText } from '../../core/errors.ts';
import type { Pins } from '../../core/pin.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { PluginStatus } from '../../core/status.ts';
import type { RunScope, Tool } from '../../core/tool.ts';
import type { ToolSource } from '../../core/tool-source.ts';
import { isErrno } from '../../lib/errno.ts';
import { oneLine } from '../../lib/one-line.ts';
import { visibleText } from '../../lib/visible-text.ts';
import { treeDigest } from '../program-approval.ts';
import { saidLines } from '../said-lines.ts';
import { type CallDeps, pluginTool, type UsablePlugin } from './call.ts';
import { pluginToolId } from './manifest.ts';
import { type PluginHook, pluginHooks, pluginServers } from './parts.ts';
import { type Approval, approvalsOf } from './pin.ts';
import { knownPlugins, type PluginState, pluginState } from './state.ts';
import { copyDirectory, pluginDirectory } from './store.ts';

/** Of a line of its progress. UTF-16 units. */
const MAX_SAID = 200;

export interface PluginsOptions {
  readonly dataDir: string;
  readonly pins: Pins;
  readonly secret: ReadSecret;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Known {
  readonly state: PluginState;
  /** Of its directory and of what is run, taken before they were read. Absent = one of them is not there. */
  readonly stamp: string | undefined;
}

export class Plugins {
  readonly #options: PluginsOptions;
  /** Whether the last look came to its end. */
  #isCurrent = false;
  #known: ReadonlyMap<string, Known> = new Map();
  #looking: Promise<void> = Promise.resolve();
  readonly #listeners: (() => void)[] = [];
  #told = '';

  constructor(options: PluginsOptions) {
    this.#options = options;
  }

  /** In the order of their names: a list of tools that stays the same is cheaper. */
  sources(): readonly ToolSource[] {
    return [...this.#known.values()].flatMap(({ state }) => {
      const plugin = usable(state);
      return plugin ? [this.#sourceOf(plugin)] : [];
    });
  }

  status(): readonly PluginStatus[] {
    return [...this.#known.values()].map(({ state: { name, standing, detail, code } }) => ({
      ...{ plugin: name, state: standing, ...(detail === undefined ? {} : { detail }) },
      offered: standing === 'enabled' && code ? code.manifest.tools.map((tool) => pluginToolId(name, tool.name)) : [],
    }));
  }

  /** As `pluginServers`. */
  servers(): ReturnType<typeof pluginServers> {
    return pluginServers([...this.#known.values()].map(({ state }) => state));
  }

  /** Asked at each use. */
  hooks(): readonly PluginHook[] {
    return pluginHooks([...this.#known.values()].map(({ state }) => state));
  }

  /** Called after each look that found something else. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Reads directories and approvals anew, one look after the other. Never rejects. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() =>
      this.#look().catch((error) => {
        // No tool is run then. What is known stays: a hook may be there to refuse.
        this.#isCurrent = false;
        this.#options.logger.error('plugins.look-failed', { detail: errorText(error) });
      }),
    );
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { dataDir, pins } = this.#options;
    const approvals = await approvalsOf(pins);
    const known = new Map<string, Known>();
    for (const name of await this.#names(approvals)) {
      const approval = approvals.get(name);
      // Before it is read: a change meanwhile counts.
      const stamp = await this.#stamp(name, approval);
      const before = this.#known.get(name);
      // What makes it broken may lie elsewhere.
      const isSame =
        stamp !== undefined &&
        before?.stamp === stamp &&
        before.state.standing !== 'broken' &&
        isDeepStrictEqual(before.state.approval, approval);
      known.set(name, isSame ? before : { stamp, state: await pluginState(dataDir, name, approval) });
    }
    const before = this.#known;
    this.#known = known;
    this.#isCurrent = true;
    this.#tell();
    const isSame = isDeepStrictEqual([...before].map(ofState), [...known].map(ofState));
    if (!isSame) for (const listener of this.#listeners) listener();
  }

  /** What is approved has a copy of its own, which is found without the directory of all of them. */
  async #names(approvals: ReadonlyMap<string, Approval>): Promise<readonly string[]> {
    const { dataDir, logger } = this.#options;
    try {
      return await knownPlugins(dataDir, approvals);
    } catch (error) {
      if (!isErrno(error, 'EACCES', 'EPERM', 'ENOTDIR')) throw error;
      logger.error('plugins.look-failed', { detail: errorText(error) });
      return [...approvals.keys()].toSorted();
    }
  }

  /** The same is told once. */
  #tell(): void {
    const { logger } = this.#options;
    const all = this.status();
    const about = JSON.stringify(all);
    if (about === this.#told) return;
    this.#told = about;
    for (const { plugin, state, detail, offered } of all) {
      if (state === 'enabled') logger.info('plugin.up', { plugin, tools: offered.length });
      else if (state === 'broken') logger.warn('plugin.broken', { plugin, code: 'GH2401', detail });
      else if (state !== 'disabled') {
        const hint = `look at it with \`gatehouse plugins enable ${plugin}\``;
        logger.warn('plugin.not-approved', { plugin, code: 'GH2402', standing: state, hint });
      }
    }
  }

  #sourceOf(plugin: UsablePlugin): ToolSource {
    return {
      name: `plugin:${plugin.name}`,
      tools: (scope) => this.#tools(plugin, scope),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  #tools(plugin: UsablePlugin, { spawner }: RunScope): readonly Tool[] {
    if (!spawner) return [];
    const { secret, redact, logger, clock } = this.#options;
    const said = saidLines({ event: 'plugin.said', about: { plugin: plugin.name }, logger, clock });
    const onProgress: CallDeps['onProgress'] = (line, show) => {
      const text = oneLine(redact(visibleText(line)), MAX_SAID);
      if (text === '') return;
      said(text);
      show?.(text);
    };
    const deps = { spawner, secret, redact, problem: () => this.#problem(plugin), onProgress };
    return plugin.code.manifest.tools.map((tool) => pluginTool(plugin, tool, deps));
  }

  /** Why what a run began with may not run any more. Where a file was touched, all of it is read again. */
  async #problem({ name, approval }: UsablePlugin): Promise<string | undefined> {
    const stamp = await this.#stamp(name, approval);
    const isAsRead = stamp !== undefined && this.#known.get(name)?.stamp === stamp;
    // Read from the journal: a command may have taken it back a moment ago.
    const now = (await approvalsOf(this.#options.pins)).get(name);
    if (!this.#isCurrent || !isAsRead || !isDeepStrictEqual(this.#known.get(name)?.state.approval, now)) await this.look();
    const isSame =
      this.#isCurrent &&
      this.#known.get(name)?.state.standing === 'enabled' &&
      now?.digest === approval.digest &&
      now.network === approval.network &&
      now.effects === approval.effects;
    return isSame ? undefined : `plugin ${name} is not what was approved any more; the operator has to approve it again`;
  }

  async #stamp(name: string, approval: Approval | undefined): Promise<string | undefined> {
    const { dataDir } = this.#options;
    const { signal } = new AbortController();
    try {
      const places = [
        pluginDirectory(dataDir, name),
        ...(approval ? [copyDirectory(dataDir, { name, digest: approval.digest })] : []),
      ];
      return (await Promise.all(places.map((path) => treeDigest(path, signal)))).map((tree) => tree.digest).join();
    } catch {
      return undefined; // what is wrong with it is said where it is read
    }
  }
}

function ofState([, { state }]: readonly [string, Known]): PluginState {
  return state;
}

function usable({ name, standing, code, approval, home }: PluginState): UsablePlugin | undefined {
  return standing === 'enabled' && code && approval && home !== undefined ? { name, code, approval, home } : undefined;
}
