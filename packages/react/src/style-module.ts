/** The style sheet for TypeScript, which asks for the types of everything that is imported: it exports nothing. */
export {}
