import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A file to write, with its path inside its folder. */
export interface NewFile {
  readonly file: string
  readonly text: string
}

/** Refuses a folder with something in it. Contract: a repository without files is nothing. */
export function refuseOccupied(folder: string): void {
  if (!existsSync(folder)) return
  if (!statSync(folder).isDirectory()) throw new Error(`${folder} is a file. Give another folder.`)
  const [found] = readdirSync(folder).filter((entry) => entry !== '.git')
  if (found !== undefined) {
    throw new Error(`${folder} is not empty: it has ${found}. Empty it, or give another folder.`)
  }
}

/**
 * Writes files into a folder that is empty or does not exist yet.
 * Contract: overwrites nothing; if a file cannot be written, what was made is removed and the error names the file.
 */
export function writeNewFolder(folder: string, files: readonly NewFile[]): void {
  refuseOccupied(folder)
  const made: string[] = []
  try {
    for (const { file, text } of files) writeNew(join(folder, file), text, made)
  } catch (error) {
    for (const path of made.reverse()) remove(path)
    throw error
  }
}

function writeNew(path: string, text: string, made: string[]): void {
  try {
    makeFolders(dirname(path), made)
    writeFileSync(path, text, { flag: 'wx' })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${path} cannot be written, so nothing was made: ${reason}`, { cause })
  }
  made.push(path)
}

function makeFolders(folder: string, made: string[]): void {
  if (existsSync(folder)) return
  makeFolders(dirname(folder), made)
  mkdirSync(folder)
  made.push(folder)
}

/** Contract: a folder that somebody else has put something into stays. */
function remove(path: string): void {
  try {
    if (statSync(path).isDirectory()) rmdirSync(path)
    else rmSync(path)
  } catch {
    // The error that is thrown is the one of the file that could not be written.
  }
}
