const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/** Whether a `host` header names this machine; any other name may be one that DNS rebinding has pointed here. */
export function isLocalHost(host: string): boolean {
  return LOCAL_HOST.test(host)
}
