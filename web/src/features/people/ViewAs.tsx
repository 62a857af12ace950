import { useState } from 'react'
import { holds } from '../../api/gates.ts'
import { viewAs } from '../../api/preview.ts'
import { useMe } from '../../api/queries.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Failed } from '../../ui/States.tsx'

const key = 'authz_internal.access.view_as'

/** Begins a preview of what somebody may see. */
export function ViewAs({ org, userId }: { org: string; userId: string }) {
  const me = useMe()
  const [error, setError] = useState<unknown>(null)
  if (me.data?.viewAs) return null
  async function begin() {
    try {
      await viewAs(org, { kind: 'user', userId })
    } catch (failed) {
      setError(failed)
    }
  }
  return (
    <>
      {error !== null && <Failed of={error} />}
      <Button reason={holds(me.data, key) === 'yes' ? null : t.needs(key)} onPress={() => void begin()}>{t.shell.viewAs}</Button>
    </>
  )
}
