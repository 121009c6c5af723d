/** A package manager. */
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** All package managers that we know the commands of. */
export const PACKAGE_MANAGERS: readonly PackageManager[] = ['npm', 'pnpm', 'yarn', 'bun']

/** The package manager that runs this process, after its `npm_config_user_agent`. */
export function runningPackageManager(userAgent: string | undefined): PackageManager {
  const [name] = (userAgent ?? '').split('/')
  return PACKAGE_MANAGERS.find((known) => known === name) ?? 'npm'
}

/** Commands of npm, as templates have them, with those of the others. Contract: the first that fits counts. */
const COMMANDS: readonly (readonly [npm: RegExp, other: (name: PackageManager) => string])[] = [
  [/\bnpm install --save-dev (?=[@\w])/g, (name) => `${name} add -D `],
  [/\bnpm install (?=[@\w])/g, (name) => `${name} add `],
  [/\bnpm install\b/g, (name) => `${name} install`],
  [/\bnpm start -- /g, (name) => `${name} start `],
  [/\bnpm start\b/g, (name) => `${name} start`],
  [/\bnpm test\b/g, (name) => (name === 'bun' ? 'bun run test' : `${name} test`)],
  // The others pass what follows a script to it, with the dashes.
  [/(?<=\bnpm run \w+ )-- /g, () => ''],
  [/\bnpm run (?=\w)/g, (name) => `${name} run `],
  [/\bpackage-lock\.json\b/g, (name) => LOCK_FILES[name]],
  [/\bnpm ci --omit=dev\b/g, (name) => CLEAN_INSTALLS[name]],
]

const LOCK_FILES: Record<PackageManager, string> = {
  npm: 'package-lock.json',
  pnpm: 'pnpm-lock.yaml',
  yarn: 'yarn.lock',
  bun: 'bun.lock',
}
const CLEAN_INSTALLS: Record<PackageManager, string> = {
  npm: 'npm ci --omit=dev',
  pnpm: 'npm install -g pnpm && pnpm install --frozen-lockfile --prod',
  yarn: 'yarn install --frozen-lockfile --production',
  bun: 'npm install -g bun && bun install --frozen-lockfile --production',
}

/** Replaces the commands of npm in a text. */
export function withCommandsOf(text: string, name: PackageManager): string {
  if (name === 'npm') return text
  const all = new RegExp(COMMANDS.map(([pattern]) => `(${pattern.source})`).join('|'), 'g')
  return text.replaceAll(all, (...found) => {
    const at = found.slice(1, COMMANDS.length + 1).findIndex((group) => group !== undefined)
    return COMMANDS[at]?.[1](name) ?? found[0]
  })
}
