import { useEffect } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { t } from '../text/en.ts'
import { Button } from '../ui/Button.tsx'
import { setSingleLetters, singleLetters, useSingleLetters } from '../ui/settings.ts'

interface Props {
  isOpen: boolean
  onOpenChange: (open: boolean) => void
  onGoTo: () => void
}

const typing = (e: Event) => (e.target as Element).closest('input, textarea, select, [contenteditable]') !== null

/** The keys that work everywhere, and the list of all of them. */
export function Shortcuts({ isOpen, onOpenChange, onGoTo }: Props) {
  const letters = useSingleLetters()
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === 'k') {
        e.preventDefault()
        onGoTo()
        return
      }
      if (e.ctrlKey || e.metaKey || e.altKey || typing(e) || !singleLetters() || document.querySelector('[role=dialog]')) return
      if (e.key === '?') onOpenChange(true)
      else if (e.key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus()
      else if ((e.key === 'j' || e.key === 'k') && document.activeElement === document.querySelector('main, body')) document.querySelector<HTMLElement>('[data-grid]')?.focus()
      else return
      e.preventDefault()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [onGoTo, onOpenChange])
  return (
    <ModalOverlay className="veil" isOpen={isOpen} onOpenChange={onOpenChange} isDismissable>
      <Modal className="sheet">
        <Dialog className="inside">
          {({ close }) => (
            <>
              <Heading slot="title">{t.shortcuts.title}</Heading>
              <dl className="facts">
                {t.shortcuts.list.map(([key, what]) => <div key={key} className="pair"><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}
              </dl>
              <div className="row far">
                <Button onPress={() => setSingleLetters(!letters)}>{letters ? t.shortcuts.off : t.shortcuts.on}</Button>
                <Button onPress={close}>{t.close}</Button>
              </div>
            </>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
