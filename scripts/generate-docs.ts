/** Writes the generated documents. Run: npm run docs. */
import { generatedDocs } from './generated-docs.ts'

for (const [path, text] of Object.entries(generatedDocs())) await Bun.write(path, text)
