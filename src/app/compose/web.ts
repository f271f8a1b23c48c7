// section `web` -> the one way of tools to other machines, and how pages of strangers are read
import type { Egress, WebSearch } from '../../core/egress.ts';
import { isGatehouseError } from '../../core/errors.ts';
import type { ReadPage } from '../../core/page.ts';
import type { EgressRules } from '../../egress/destination.ts';
import { createEgress } from '../../egress/egress.ts';
import { packageVersion } from '../../lib/package-info.ts';
import { missingPackages } from '../../tools/installed.ts';
import { PAGE_PACKAGES, pageReader } from '../../tools/page-reader.ts';
import { createSearch, type SearchOptions } from '../../tools/search-engines.ts';
import type { Base, Config, DaemonOptions } from './options.ts';

export interface Web {
  readonly egress: Egress;
  /** Undefined = no search engine is configured. */
  readonly webSearch: WebSearch | undefined;
  /** For calls of one run. */
  readonly pages: (run: string) => ReadPage;
}

export function composeWeb({ options, programs, live }: Base): Web {
  const { clock, logger, connector } = options;
  const command = missingPackages(PAGE_PACKAGES);
  if (command !== undefined) {
    const detail = 'web_fetch reads text and JSON, and no page of HTML';
    logger.warn('packages.missing', { code: 'GH2013', detail, hint: command });
  }
  const egress = createEgress({
    ...connector,
    clock,
    userAgent: `Gatehouse/${packageVersion()}`,
    rules: (tool) => rulesOf(live().web, tool),
  });
  return {
    egress,
    webSearch: createSearch({ engines: enginesOf(options), egress, logger }),
    pages: (run) => pageReader({ spawner: programs.spawner, run }),
  };
}

/** A tool that the config does not know goes nowhere. */
export function rulesOf(web: Config['web'], tool: string): EgressRules {
  // Its addresses are the operator's alone, who may run an engine in their own network.
  if (tool === 'web_search')
    return {
      allowDomains: [],
      denyDomains: [],
      privateOrigins: Object.values(web.web_search).flatMap((engine) => engine?.base_url ?? []),
    };
  if (tool !== 'web_fetch' && tool !== 'browser') throw new Error(`no rules say where the tool ${tool} may go`);
  const { allow_domains: allowDomains, deny_domains: denyDomains } = web[tool];
  return { allowDomains, denyDomains, privateOrigins: [] };
}

/** One whose key is not set is left out, and said: the daemon has more to do than to search. */
function enginesOf({ config, secret, logger }: DaemonOptions): SearchOptions['engines'] {
  const engines = Object.entries(config.web.web_search).flatMap(([name, engine]) => {
    if (!engine) return [];
    try {
      const key = 'api_key_env' in engine ? secret(engine.api_key_env) : '';
      return [[name, { key, baseUrl: engine.base_url }] as const];
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      logger.warn('search.no-key', { code: error.code, engine: name, detail: error.message, hint: error.hint });
      return [];
    }
  });
  return Object.fromEntries(engines);
}
