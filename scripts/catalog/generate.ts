/**
 * `npm run generate:catalog`: writes `src/llm/catalog/models.json` from pinned public packages and
 * `overrides.json`. Needs the network, for the npm client. A release step; nothing of it runs in the daemon.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CatalogFile } from '../../src/llm/catalog/catalog.ts';
import { buildModels, each, type Overrides } from './build.ts';
import { readAnthropicEnds, readOpenAiEnds } from './lifecycle.ts';
import { fetchPackages, PACKAGES } from './packages.ts';
import { readPrimary } from './primary-rows.ts';
import { readSecondSource } from './second-source.ts';

const CATALOG = join(import.meta.dirname, '../../src/llm/catalog');

const LICENCE = [
  'MIT License. Copyright (c) Mario Zechner.',
  'Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files',
  '(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,',
  'publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do',
  'so, subject to the following conditions: The above copyright notice and this permission notice shall be included in all copies or',
  'substantial portions of the Software.',
  'THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF',
  'MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE',
  'FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN',
  'CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.',
].join(' ');

const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-catalog-'));
try {
  const folders = fetchPackages(scratch);
  const { asOf, rows } = readPrimary(folders.rows);
  const overrides = JSON.parse(readFileSync(join(CATALOG, 'overrides.json'), 'utf8')) as Overrides;
  const models = buildModels({
    ...{ asOf, rows, overrides },
    openAiEnds: readOpenAiEnds(folders.openai),
    anthropic: readAnthropicEnds(folders.anthropic),
    second: await readSecondSource(folders.prices, asOf),
  });
  const about = {
    asOf,
    source: PACKAGES.rows,
    licence: LICENCE,
    pricesComparedWith: PACKAGES.prices,
    endsFrom: [PACKAGES.openai, PACKAGES.anthropic],
    generatedBy: 'npm run generate:catalog; changes belong into overrides.json',
    unit: 'USD per million tokens',
  };
  write({ about, models });
} finally {
  rmSync(scratch, { recursive: true });
}

function write(file: CatalogFile): void {
  const path = join(CATALOG, 'models.json');
  const before = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as CatalogFile) : undefined;
  // Several generations from one version of the source are one step for the reader.
  if (before && before.about.source !== file.about.source) writePrevious(before);
  const providers = Object.entries(file.models).map(([provider, rows]) => {
    const lines = Object.entries(rows).map(([id, row]) => `      ${JSON.stringify(id)}: ${JSON.stringify(row)}`);
    return `    ${JSON.stringify(provider)}: {\n${lines.join(',\n')}\n    }`;
  });
  const about = JSON.stringify(file.about, null, 2).replaceAll('\n', '\n  ');
  writeFileSync(path, `{\n  "about": ${about},\n  "models": {\n${providers.join(',\n')}\n  }\n}\n`);
  process.stdout.write(`${each(file.models).length} models of ${providers.length} providers, as of ${file.about.asOf}\n`);
}

/** What `models catalog --updates` compares with: price and end of each row. */
function writePrevious({ about, models }: CatalogFile): void {
  const lines = each(models).map(({ provider, id, row }) => {
    const cells = [row.price?.in ?? null, row.price?.out ?? null, ...(row.ends ? [row.ends] : [])];
    return `    ${JSON.stringify(`${provider}/${id}`)}: ${JSON.stringify(cells)}`;
  });
  const head = `{\n  "asOf": ${JSON.stringify(about.asOf)},\n  "source": ${JSON.stringify(about.source)},\n  "models": {\n`;
  writeFileSync(join(CATALOG, 'previous.json'), `${head}${lines.join(',\n')}\n  }\n}\n`);
}
