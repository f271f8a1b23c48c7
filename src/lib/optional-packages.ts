/**
 * The packages that an installation may lack, by what needs them, and where they are found: beside the
 * program, and in the directory that `GATEHOUSE_PACKAGES` names. The daemon installs none; `gatehouse
 * channels add` and its siblings do.
 */
import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export type PackageKind = 'channels' | 'tools' | 'models';

export const OPTIONAL_PACKAGES: Readonly<Record<PackageKind, Readonly<Record<string, readonly string[]>>>> = {
  channels: {
    discord: ['discord.js'],
    email: ['imapflow', 'nodemailer', 'postal-mime'],
    feishu: ['@larksuiteoapi/node-sdk'],
    slack: ['@slack/bolt'],
    twilio: ['twilio'],
    whatsapp: ['@whiskeysockets/baileys'],
  },
  tools: {
    browser: ['playwright-core'],
    documents: ['docx', 'mammoth', 'unpdf'],
    mcp: ['@modelcontextprotocol/sdk'],
    web: ['@mozilla/readability', 'linkedom', 'node-html-markdown'],
  },
  models: { gemini: ['@google/genai'] },
};

const COMMANDS: Readonly<Record<PackageKind, string>> = {
  channels: 'gatehouse channels add',
  tools: 'gatehouse tools add',
  models: 'gatehouse models add-provider',
};

let named: string | undefined;

/**
 * Also finds packages in `dir`, after those that lie beside the program. Call it before anything optional is
 * imported; undefined = there is no such directory.
 */
export function usePackagesDir(dir: string | undefined): void {
  if (!dir || named !== undefined) return;
  named = dir;
  const parentURL = pathToFileURL(join(dir, 'package.json')).href;
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        const bare = !/^(?:[./]|[a-z]+:)/.test(specifier);
        if (!bare || context.parentURL === parentURL) throw error;
        try {
          return next(specifier, { ...context, parentURL });
        } catch {
          throw error; // it names the file that wanted the package
        }
      }
    },
  });
}

/** The directory that `usePackagesDir` was called with. */
export function packagesDir(): string | undefined {
  return named;
}

/** Whether a package lies where an import of this program finds it. */
export function hasPackage(name: string): boolean {
  if (named !== undefined && existsSync(join(named, 'node_modules', name, 'package.json'))) return true;
  for (let at = import.meta.dirname; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', name, 'package.json'))) return true;
    if (dirname(at) === at) return false;
  }
}

/** The command that installs what `name` lacks; undefined = it lacks nothing. */
export function installCommand(kind: PackageKind, name: string, has = hasPackage): string | undefined {
  const packages = Object.hasOwn(OPTIONAL_PACKAGES[kind], name) ? (OPTIONAL_PACKAGES[kind][name] ?? []) : [];
  return packages.every(has) ? undefined : `${COMMANDS[kind]} ${name}`;
}
