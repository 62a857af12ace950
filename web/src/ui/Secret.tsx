import { useEffect, useRef, useState } from 'react'
import { secret as t } from '../text/secret.ts'
import { Button } from './Button.tsx'
import { say } from './Toasts.tsx'

/** A secret that is told once. It is held by the screen that made it, and by nothing else: no cache, no address, no title. */
export function Secret({ title, of }: { title: string; of: string | null }) {
  const [shown, setShown] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [of])
  async function copy(text: string) {
    await navigator.clipboard.writeText(text)
    say(t.copied)
  }
  return (
    <section className="card stack close" aria-label={title}>
      <h2 ref={heading} tabIndex={-1}>{title}</h2>
      {of === null ? <div className="note mind"><p>{t.withheld}</p></div> : (
        <>
          <p>{t.hint}</p>
          <code className="secret id" aria-label={t.name}>{shown ? of : '•'.repeat(24)}</code>
          <div className="row"><Button kind="main" onPress={() => void copy(of)}>{t.copy}</Button><Button onPress={() => setShown(!shown)}>{shown ? t.hide : t.show}</Button></div>
        </>
      )}
    </section>
  )
}
