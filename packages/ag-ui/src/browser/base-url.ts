/** The address of an agent without its query and without a slash at the end. */
export function baseUrl(url: string): string {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  return path.endsWith('/') ? path.slice(0, -1) : path
}
