/** One way to have a conversation with a database. */
export interface StackSide extends AsyncDisposable {
  /** Makes a thread with messages of former turns. */
  seed(thread: string, count: number): Promise<void>
  /** Answers one message of a thread and gives the text of the answer. */
  turn(thread: string): Promise<string>
}
