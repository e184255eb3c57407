//! Processes a command's bytes for the message and the clients.

use std::sync::PoisonError;

use api::language::Language;
use bytes::Bytes;
use tokio::time::Instant;

use super::keeper::{Keeper, Kept};
use crate::Channel;
use crate::running::SharedTranscript;
use crate::transcript::LeftOut;
use agent::live::Live;
use execs::Utf8Decoder;

/// Pieces of output to be sent to the user's clients, in order.
pub(crate) type OutputPieces = Vec<(Channel, String)>;

/// One command's output while it runs.
pub(crate) struct Output {
    stdout: Utf8Decoder,
    stderr: Utf8Decoder,
    transcript: SharedTranscript,
    live: Live<Channel>,
    keeper: Keeper,
    counted: Counted,
    /// The language of the notes in the output.
    language: Language,
}

/// The length of the output so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) stdout_bytes: u64,
    pub(crate) stderr_bytes: u64,
    /// True if some output was dropped before it arrived here.
    pub(crate) has_gap: bool,
}

/// One command's output after its end.
pub(crate) struct FinishedOutput {
    /// The text of the message.
    pub(crate) text: String,
    /// The file that contains the whole output, if the text does not.
    pub(crate) path: Option<String>,
    /// True if the text does not show the whole output, and no file contains it.
    pub(crate) lost_some: bool,
    pub(crate) counted: Counted,
}

impl Output {
    pub(crate) fn new(transcript: SharedTranscript, keeper: Keeper, language: Language) -> Self {
        let (stdout, stderr) = (Utf8Decoder::default(), Utf8Decoder::default());
        let (live, counted) = (Live::new(Instant::now()), Counted::default());
        Self { stdout, stderr, transcript, live, keeper, counted, language }
    }

    /// Adds the next bytes; returns the pieces to send at once.
    pub(crate) async fn push(&mut self, channel: Channel, bytes: &Bytes) -> OutputPieces {
        let (decoder, counted_bytes) = match channel {
            Channel::Stdout => (&mut self.stdout, &mut self.counted.stdout_bytes),
            Channel::Stderr => (&mut self.stderr, &mut self.counted.stderr_bytes),
        };
        *counted_bytes += bytes.len() as u64;
        let text = decoder.decode(bytes);
        let (is_long, told) = self.show(channel, &text);
        self.keeper.push(bytes, is_long).await;
        told
    }

    /// Records that output was dropped before it arrived here.
    pub(crate) async fn push_gap(&mut self, channel: Channel, bytes: u64) -> OutputPieces {
        self.counted.has_gap = true;
        let note = format!("… {bytes} bytes of output were lost here …");
        let note = format!("\n{}\n", self.language.translated(&note));
        let (is_long, told) = self.show(channel, &note);
        self.keeper.push(note.as_bytes(), is_long).await;
        told
    }

    /// The time when [`Output::take_live`] has something to send.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.live.due()
    }

    /// Takes the output that was gathered for sending.
    pub(crate) fn take_live(&mut self) -> OutputPieces {
        self.take_live_at(Instant::now())
    }

    fn take_live_at(&mut self, now: Instant) -> OutputPieces {
        self.live.take(now, &|note| self.language.translated(note).into_owned())
    }

    /// Discards the gathered output, because it reaches the clients in another way.
    pub(crate) fn forget_live(&mut self) {
        self.live = Live::new(Instant::now());
    }

    /// Ends the output. `place` is the place where the command ran, by the name that users see.
    pub(crate) async fn finish(mut self, place: &str) -> FinishedOutput {
        let rest = format!("{}{}", self.stdout.finish(), self.stderr.finish());
        let is_long = self.show(Channel::Stdout, &rest).0;
        self.keeper.push(&[], is_long).await;
        let kept = self.keeper.finish().await;
        let transcript = self.transcript.lock().unwrap_or_else(PoisonError::into_inner);
        let render = |left_out: LeftOut<'_>| transcript.render(&left_out, self.language);
        let (text, path, lost_some) = match kept {
            Kept::NotNeeded => (render(LeftOut::SoFar), None, false),
            Kept::In(path) => (render(LeftOut::KeptIn { path: &path, place }), Some(path), false),
            Kept::Failed(why) => (render(LeftOut::NotKept { why: &why }), None, true),
        };
        FinishedOutput { text, path, lost_some, counted: self.counted }
    }

    fn show(&mut self, channel: Channel, text: &str) -> (bool, OutputPieces) {
        let is_long = {
            let mut transcript = self.transcript.lock().unwrap_or_else(PoisonError::into_inner);
            transcript.push(text);
            transcript.is_long()
        };
        let now = Instant::now();
        let is_full = self.live.push(now, channel, text);
        (is_long, if is_full { self.take_live_at(now) } else { OutputPieces::new() })
    }
}
