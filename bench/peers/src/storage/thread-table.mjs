import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** The table that an app would make: rows of JSON by thread, in a file that survives a power cut, as ours does. */
export function threadTable(folder) {
  const database = new DatabaseSync(join(folder, 'threads.db'))
  database.exec('pragma journal_mode = wal; pragma synchronous = full')
  database.exec('create table m (thread text, seq integer, row text, primary key (thread, seq)) without rowid')
  const last = database.prepare('select seq, row from m where thread = ? order by seq desc limit ?')
  const add = database.prepare('insert into m values (?, ?, ?)')
  const [begin, commit] = [database.prepare('begin immediate'), database.prepare('commit')]
  return {
    /** The last rows of a thread, and the sequence of the last one. */
    read(thread, count) {
      const found = last.all(thread, count).reverse()
      return { rows: found.map(({ row }) => JSON.parse(row)), seq: found.at(-1)?.seq ?? 0 }
    },
    add(thread, after, rows) {
      begin.run()
      for (const [i, row] of rows.entries()) add.run(thread, after + i + 1, JSON.stringify(row))
      commit.run()
    },
    close: () => database.close(),
  }
}
