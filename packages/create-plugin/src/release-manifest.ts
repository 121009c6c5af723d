/** Turns a `package.json` of this repository into one of a new package: it asks for our packages by a range, and begins with a version of its own. */
export function releaseManifest(text: string, range: string): string {
  return text.replaceAll('workspace:^', range).replace(/"version": ".*"/, '"version": "0.1.0"')
}
