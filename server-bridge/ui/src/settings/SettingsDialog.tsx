import { ChevronLeft, ChevronRight } from "lucide-react";
import { type ComponentType, createElement, Suspense, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../kit/Dialog";
import { showSettings } from "../lib/location";
import { useAppState } from "../state/context";
import { type Section, SECTIONS, sectionsFor } from "./sections";
import styles from "./settings.module.css";

interface Props {
  /** The section's id, from the address; empty for the list, which a wide page shows next to the first section. */
  section: string;
  onClose: () => void;
}

/** The settings over the page: a list of sections and the open one; a narrow page shows only one of them at a time. */
export default function SettingsDialog({ section, onClose }: Props) {
  const { t } = useTranslation("settings");
  const { me } = useAppState("me");
  const sections = sectionsFor(me?.admin ?? false);
  useEffect(() => SECTIONS.forEach((candidate) => candidate.view.prepare()), []);
  const named = sections.find((candidate) => candidate.id === section);
  const open = named ?? sections[0];
  return (
    <Dialog title={t("title")} shape="page" onClose={onClose}>
      <div className={named === undefined ? `${styles.settings} ${styles.atList}` : styles.settings}>
        <nav aria-label={t("title")}>
          {(["you", "work", "server"] as const).map((group) => (
            <div key={group} role="group" aria-label={t(`groups.${group}`)}>
              <p aria-hidden="true">{t(`groups.${group}`)}</p>
              {sections
                .filter((candidate) => candidate.group === group)
                .map((candidate) => (
                  <Entry key={candidate.id} section={candidate} current={candidate === open} />
                ))}
            </div>
          ))}
        </nav>
        {open !== undefined && (
          <section className={styles.settingsSection} aria-labelledby="section-title" key={open.id}>
            <header>
              <button type="button" className="quiet icon only-narrow" aria-label={t("back")} onClick={() => showSettings("")}>
                <ChevronLeft aria-hidden="true" />
              </button>
              <h3 id="section-title" className={styles.sectionTitle}>{t(`sections.${open.id}`)}</h3>
            </header>
            <p className="hint">{t(`hints.${open.id}`)}</p>
            <Suspense fallback={<p className="hint">{t("loading")}</p>}>
              <Body section={open} />
            </Suspense>
          </section>
        )}
      </div>
    </Dialog>
  );
}

function Body({ section }: { section: Section }) {
  // One component as long as the section is open: its chunk may arrive meanwhile.
  const [{ view }] = useState<{ view: ComponentType }>(() => ({ view: section.view.view() }));
  return createElement(view);
}

function Entry({ section, current }: { section: Section; current: boolean }) {
  const { t } = useTranslation("settings");
  return (
    <button type="button" className="quiet" aria-current={current ? "page" : undefined} onClick={() => showSettings(section.id)}>
      <section.icon aria-hidden="true" />
      {t(`sections.${section.id}`)}
      <ChevronRight aria-hidden="true" className="only-narrow" />
    </button>
  );
}
