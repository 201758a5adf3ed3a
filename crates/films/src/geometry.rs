//! Vectors and rotations in the head's space: x to the picture's right, y down, z away from the camera. The unit is
//! the distance between the eyes, and the origin is the point between them.

use faces::Pose;

/// A point or direction.
pub(crate) type Vector = [f32; 3];

pub(crate) fn added(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(crate) fn subtracted(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(crate) fn dot(a: Vector, b: Vector) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(crate) fn cross(a: Vector, b: Vector) -> Vector {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The vector at length 1; straight towards the camera if it has no length.
pub(crate) fn unit(a: Vector) -> Vector {
    let length = dot(a, a).sqrt();
    if length > 1e-9 {
        a.map(|value| value / length)
    } else {
        [0.0, 0.0, -1.0]
    }
}

/// A rotation, as three rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotation([Vector; 3]);

impl Rotation {
    /// The rotation of a head with this pose: first the nod, then the turn, then the tilt.
    pub(crate) fn of(pose: Pose) -> Self {
        let (sy, cy) = pose.yaw.to_radians().sin_cos();
        let (sp, cp) = pose.pitch.to_radians().sin_cos();
        let (sr, cr) = pose.roll.to_radians().sin_cos();
        // Nod: y' = y cos − z sin, z' = y sin + z cos. Turn: x' = x cos − z sin, z' = x sin + z cos.
        let turned = [[cy, -sy * sp, -sy * cp], [0.0, cp, -sp], [sy, cy * sp, cy * cp]];
        let row = |a: f32, b: f32| std::array::from_fn(|i| a * turned[0][i] + b * turned[1][i]);
        Self([row(cr, -sr), row(sr, cr), turned[2]])
    }

    /// Rotates a vector.
    pub(crate) fn apply(&self, v: Vector) -> Vector {
        self.0.map(|row| dot(row, v))
    }

    /// Rotates a vector the other way.
    pub(crate) fn undo(&self, v: Vector) -> Vector {
        std::array::from_fn(|i| self.0[0][i] * v[0] + self.0[1][i] * v[1] + self.0[2][i] * v[2])
    }
}

/// The pose of a head that faces the camera.
pub(crate) const FRONTAL: Pose = Pose {
    yaw: 0.0,
    pitch: 0.0,
    roll: 0.0,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noses_point_where_the_pose_says() {
        let nose = |yaw, pitch, roll| Rotation::of(Pose { yaw, pitch, roll }).apply([0.0, 0.0, -1.0]);
        assert!(nose(30.0, 0.0, 0.0)[0] > 0.49 && nose(-30.0, 0.0, 0.0)[0] < -0.49);
        assert!(nose(0.0, 20.0, 0.0)[1] > 0.34 && nose(0.0, -20.0, 0.0)[1] < -0.34);
        let left_eye = Rotation::of(Pose {
            yaw: 0.0,
            pitch: 0.0,
            roll: 20.0,
        })
        .apply([1.0, 0.0, 0.0]);
        assert!(left_eye[1] > 0.3, "clockwise for the viewer");
        let turned = Rotation::of(Pose {
            yaw: 25.0,
            pitch: -12.0,
            roll: 7.0,
        });
        let there_and_back = turned.undo(turned.apply([0.3, -1.0, 2.0]));
        assert!(
            subtracted(there_and_back, [0.3, -1.0, 2.0])
                .iter()
                .all(|d| d.abs() < 1e-5)
        );
    }
}
