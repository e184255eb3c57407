import { useTranslation } from "react-i18next";
import { useAppState } from "../../state/context";
import { useActivePlace } from "../place";
import { Files } from "./Files";
import panels from "../panels.module.css";

/** The files of the active runner's workspace. */
export default function FilesPanel() {
  const { t } = useTranslation("panels");
  const { me } = useAppState("me");
  const place = useActivePlace();
  if (place === null || me === null) {
    return (
      <div className={panels.panelEmpty}>
        <p>{t("file.nowhere")}</p>
        <p className="hint">{t("file.choose")}</p>
      </div>
    );
  }
  // Each place has a separate tree, and unsaved text belongs to its place.
  return <Files key={place} place={place} owner={me.name} />;
}
