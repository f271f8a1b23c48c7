// section `sandbox` -> what works on this machine -> why a tool that runs programs is not offered
import type { LoadedConfig } from '../../config/load.ts';
import type { Verdict } from '../core/policy.ts';
import type { Clock } from '../core/ports.ts';
import type { ToolFacts } from '../core/tool.ts';
import { missingPackages } from '../tools/installed.ts';

const KEY = 'sandbox';

/**
 * Really tries the sandbox, as the daemon does at its start. What a worker of the system can do is not asked:
 * `gatehouse status` has it. Undefined = nothing of that keeps the tool away.
 */
export async function whyNoPrograms(
  { sandbox }: Pick<LoadedConfig['config'], 'sandbox'>,
  { dataDir, clock }: { readonly dataDir: string; readonly clock: Clock },
): Promise<(tool: Pick<ToolFacts, 'needs'>) => Verdict | undefined> {
  const denied = (reason: string) => (tool: Pick<ToolFacts, 'needs'>) => (tool.needs ? deny(reason) : undefined);
  if (!sandbox) return denied('it runs programs: add `"sandbox": {}` to the config');
  if (sandbox.mode === 'off') return denied('it runs programs, and sandbox.mode is off');
  const noBrowser = ({ needs }: Pick<ToolFacts, 'needs'>, mode: string): Verdict | undefined =>
    needs === 'chromium' && !['auto', 'bwrap'].includes(mode)
      ? deny(`only bubblewrap holds a browser, and sandbox.mode is ${mode}`)
      : undefined;
  if (sandbox.worker_socket !== undefined) return (tool) => noBrowser(tool, sandbox.mode);
  const { probeSandbox } = await import('../sandbox/probe.ts');
  const { image, allow_network: network, read_allow_paths: readable } = sandbox;
  const jail = { network, readable, hidden: [dataDir], ...(image === undefined ? {} : { image }) };
  const found = await probeSandbox(sandbox.mode, jail, clock);
  if ('problem' in found) return denied(`${found.problem}; ${found.hint}`);
  return (tool) => {
    const { needs } = tool;
    const held = noBrowser(tool, found.mode);
    if (held) return held;
    const command = needs === 'chromium' ? missingPackages(['playwright-core']) : undefined;
    if (command !== undefined) return deny(`its package is missing: \`${command}\``);
    if (needs === undefined || needs === 'sh' || found.programs.includes(needs)) return undefined;
    return deny(`its program is missing: install ${PACKAGES[needs]} (\`apt-get install ${PACKAGES[needs]}\`)`);
  };
}

const PACKAGES = { rg: 'ripgrep', git: 'git', chromium: 'chromium' } as const;

function deny(reason: string): Verdict {
  return { kind: 'deny', reason, key: KEY };
}
