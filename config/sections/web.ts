import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';
import { baseUrl } from './model.ts';

/** As hosts are compared with. `domainToASCII` leaves `*`, `,` and quotation marks where they are. */
const HOST = /^(?!-)[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;

/** Of a host, with all below it. What is none would protect from nothing. */
const domain = z.string().min(1).max(253).refine(isDomain, 'must be a domain, such as "example.org"');

function isDomain(text: string): boolean {
  const bare = text.replace(/^\*?\./, '').replace(/(?<!\.)\.+$/, '');
  return HOST.test(domainToASCII(bare));
}

const domains = z.array(domain).max(10_000);

const engine = z
  .strictObject({
    api_key_env: environmentName.describe('Name of the environment variable that holds the key.'),
    base_url: baseUrl.optional().describe('Address of the engine. Default: its own. May be one of your own network.'),
  })
  .optional()
  .describe('A search engine. It may cost money for each search.');

const keyless = z
  .strictObject({ base_url: baseUrl.optional().describe('Address of the engine. Default: its own.') })
  .optional()
  .describe(
    'DuckDuckGo, which wants no key. It has no interface for programs: its page is read, and it may refuse many searches.',
  );

/** What tools may reach. Addresses that are not public are refused in any case. */
export const webSection = z
  .strictObject({
    web_fetch: z
      .strictObject({
        allow_domains: domains.default([]).describe('Domains that may be read, with all below them. Empty: all that are public.'),
        deny_domains: domains.default([]).describe('Domains that may not be read, with all below them, whatever is allowed.'),
      })
      .prefault({})
      .describe('The tool that reads web pages.'),
    browser: z
      .strictObject({
        allow_domains: domains
          .default([])
          .describe('Domains that a browser may connect to, with all below them. Empty: all that are public.'),
        deny_domains: domains
          .default([])
          .describe('Domains that a browser may not connect to, with all below them, whatever is allowed.'),
      })
      .prefault({})
      .describe('The tool that uses web pages. What a page loads from elsewhere is judged as the page itself is.'),
    web_search: z
      .strictObject({ tavily: engine, duckduckgo: keyless, exa: engine, brave: engine, you: engine, perplexity: engine })
      .prefault({})
      .describe('Search engines that the agent may ask, in this order until one answers. Without one there is no web_search.'),
  })
  .prefault({})
  .describe('Where in the web the tools of the agent may go. Addresses that are not public are refused in any case.');
