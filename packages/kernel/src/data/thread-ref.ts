/** The owner of data. Contract: data of another owner looks the same as absent data, in every method of every port. */
export type Owner = { readonly app: string; readonly user: string }
/** One conversation of one owner. */
export type ThreadRef = Owner & { readonly threadId: string }
