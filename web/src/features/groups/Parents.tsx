import { useState } from 'react'
import { useAsk } from '../../api/queries.ts'
import { g } from '../../text/groups.ts'
import { Several } from '../../ui/Several.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'

/** The groups that a group is in. */
export function Parents({ org, value, onChange }: { org: string; value: string[]; onChange: (parents: string[]) => void }) {
  const [text, setText] = useState('')
  const q = useDebounced(text.trim())
  const found = useAsk('GET /orgs/{org}/org/groups', { path: { org }, query: { q, limit: 8 } }, { on: q !== '', keep: true })
  return <Several label={g.parents} hint={g.parentsHint} value={value} onChange={onChange} onType={setText} choices={(found.data?.groups ?? []).map(of => ({ id: of.id, note: of.name }))} />
}
